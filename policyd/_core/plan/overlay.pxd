"""An overlay bound to one kind: a tree of changes, applied to objects of that kind."""

from libc.stdint cimport int64_t

from policyd._core.plan.overlay_run cimport OverlayChange, OverlayRun, OverlayScope
from policyd._core.schema.merge cimport Edits

cdef class BoundOverlay:
    cdef OverlayScope scope
    cdef OverlayChange change
    cdef readonly Py_ssize_t expressions

    # The changed object, or ``obj`` itself.
    cdef object applied(self, object obj, OverlayRun work)


# The state before evaluation. For an overlay with expressions, also set the activation.
cdef OverlayRun run_of(BoundOverlay overlay, int64_t deadline, Edits edits)

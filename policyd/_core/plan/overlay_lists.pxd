"""Changes of lists."""

from policyd._core.plan.overlay_run cimport OverlayChange, OverlayRun, OverlayScope
from policyd._core.schema.types cimport SchemaType


cdef class ItemChange(OverlayChange):
    cdef OverlayChange change
    cdef object key


cdef class EachItemChange:
    cdef OverlayScope scope
    cdef OverlayChange change      # None: the items are removed
    cdef ItemChange key

    cdef list applied(self, list items, SchemaType type, OverlayRun work)


cdef class ListChange(OverlayChange):
    cdef SchemaType type
    cdef tuple items
    cdef tuple removed
    cdef tuple each
    cdef str path
    cdef bint prepends

    cdef list keyed(self, list live, OverlayRun work)


cdef class WholeListChange(OverlayChange):
    cdef tuple items
    cdef bint appends
    cdef bint prepends

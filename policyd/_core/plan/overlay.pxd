"""An overlay that was written for one kind: a tree of changes, applied to objects of that kind.

``policyd.mutation.overlays.binding`` makes the tree when a policy loads. It never changes later,
and no object that it is applied to does: what a change leaves alone is shared with the input.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.program cimport Program
from policyd._core.schema.types cimport SchemaType


cdef class OverlayRun:
    """One application of an overlay: its budget, and the values that its expressions had so far.

    ``looking`` has the deadline of the search for what fulfils conditions; it spends no budget.
    """

    cdef Activation conditions_activation
    cdef Activation activation      # None for an overlay without expressions
    cdef int64_t budget             # of all its expressions together
    cdef list values                # by Expression.number; ABSENT: not evaluated yet
    cdef Py_ssize_t room            # bytes that its expressions may still write into the object

    # OverlayError if there is no room for the value.
    cdef int write(self, object value) except -1


cdef class OverlayExpression:
    """The text between ``${`` and ``}``. ``number`` is its place among those of its mutation."""

    cdef readonly Program program
    cdef Py_ssize_t number

    # What it evaluates to, once for each application.
    cdef object value(self, OverlayRun work)
    # The value; OverlayError if it is an error.
    cdef object sound(self, object value)


cdef class OverlayScope:
    """Conditions of a tree of maps, as (path to the map, pattern). All must hold."""

    cdef tuple conditions

    # Raises DeadlineExceeded.
    cdef bint holds(self, object value, OverlayRun work) except -1


cdef class OverlayChange:
    """What an overlay does at one place.

    ``merged`` gives what stands there afterwards: ``live`` itself if nothing changes. Either may be
    ABSENT. It raises OverlayError, MergeError, Stopped or DeadlineExceeded.
    """

    cdef object merged(self, object live, OverlayRun work)


cdef class FixedChange(OverlayChange):
    """A value that replaces what is there."""

    cdef object value


cdef class RemovalChange(OverlayChange):
    """``null``."""


cdef class ComputedChange(OverlayChange):
    """``${...}`` alone: whatever the expression gives is merged as if it were written there."""

    cdef OverlayExpression expression
    cdef SchemaType type
    cdef str path


cdef class StringChange(OverlayChange):
    """A text with ``${...}`` inside; ``parts`` are strings and expressions."""

    cdef tuple parts
    cdef SchemaType type
    cdef str path


cdef class MapChange(OverlayChange):
    """Keys that are merged one by one. ``added``: only where the key is absent (or null).

    ``empty``: it is written as ``{}``, which is put where there is no map.
    """

    cdef tuple names
    cdef tuple changes
    cdef tuple added
    cdef bint empty


cdef class ItemChange(OverlayChange):
    """An item of a list, found by its merge key and added where there is none.

    ``key`` is None if an expression takes part in it: then it is that of the new item.
    """

    cdef OverlayChange change
    cdef object key


cdef class EachItemChange:
    """A change of every item that fulfils the conditions and has the key, if one is given."""

    cdef OverlayScope scope
    cdef OverlayChange change      # None: the items are removed
    cdef ItemChange key

    cdef list applied(self, list items, SchemaType type, OverlayRun work)


cdef class ListChange(OverlayChange):
    """A list whose items are found one by one: ``items`` by their keys, then ``each``.

    ``removed`` are items of which only the key is given.
    """

    cdef SchemaType type
    cdef tuple items
    cdef tuple removed
    cdef tuple each
    cdef str path

    cdef list keyed(self, list live, OverlayRun work)


cdef class WholeListChange(OverlayChange):
    """A list that is replaced as a whole, with expressions in it."""

    cdef tuple items


cdef class BoundOverlay:
    """All of it. ``expressions`` is their number."""

    cdef OverlayScope scope
    cdef OverlayChange change
    cdef readonly Py_ssize_t expressions

    # The changed object, or ``obj`` itself.
    cdef object applied(self, object obj, OverlayRun work)


# Before anything is evaluated; an overlay with expressions needs the activation too.
cdef OverlayRun overlay_run(BoundOverlay overlay, int64_t deadline)

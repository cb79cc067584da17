"""An overlay bound to one kind: a tree of changes, applied to objects of that kind.

``policyd.mutation.overlays.binding`` creates the tree when a policy is loaded. The tree and the
objects it is applied to are immutable: the result shares unchanged values with the input.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.eval.program cimport Program
from policyd._core.schema.edits cimport Edits
from policyd._core.schema.types cimport SchemaType


cdef class OverlayRun:
    """One application of an overlay: its budget, and the values of its expressions so far.

    ``looking`` has the deadline for the
    conditions, which spend no budget.
    """

    cdef Activation conditions_activation
    cdef Activation activation      # None for an overlay without expressions
    cdef int64_t budget             # of all expressions together
    cdef list values                # by OverlayExpression.number; ABSENT: not evaluated yet
    cdef Py_ssize_t room            # bytes that expressions may still write into the object
    cdef Edits edits                # what the latest change changed

    # Raises OverlayError if there is no room for the value.
    cdef int write(self, object value) except -1


cdef class OverlayExpression:
    """The expression between ``${`` and ``}``. ``number`` is its index in the mutation."""

    cdef readonly Program program
    cdef Py_ssize_t number

    # The value, evaluated once per application.
    cdef object value(self, OverlayRun work)
    # The value; raises OverlayError if it is a CelError.
    cdef object sound(self, object value)


cdef class OverlayScope:
    """The conditions of a tree of maps: (path to the map, pattern). All must hold."""

    cdef tuple conditions

    # Raises DeadlineExceeded.
    cdef bint holds(self, object value, OverlayRun work) except -1


cdef class OverlayChange:
    """The change of an overlay at one path.

    ``merged`` returns the new value, or ``live`` itself if nothing changes. Either may be ABSENT.
    It raises OverlayError, MergeError, Stopped or DeadlineExceeded.
    """

    cdef object merged(self, object live, OverlayRun work)


cdef class FixedChange(OverlayChange):
    """A value that replaces the live value."""

    cdef object value


cdef class RemovalChange(OverlayChange):
    """``null``: removes the live value."""


cdef class ComputedChange(OverlayChange):
    """``${...}`` alone: the value of the expression is merged as if it were a literal."""

    cdef OverlayExpression expression
    cdef SchemaType type
    cdef str path


cdef class StringChange(OverlayChange):
    """A string with ``${...}`` inside; ``parts`` are strings and expressions."""

    cdef tuple parts
    cdef SchemaType type
    cdef str path


cdef class MapChange(OverlayChange):
    """Keys that are merged one by one. ``added``: only if the key is missing (or null).

    ``empty``: the overlay has ``{}``, which is written if there is no map.
    """

    cdef tuple names
    cdef tuple changes
    cdef tuple added
    cdef bint empty


cdef class ItemChange(OverlayChange):
    """An item of a list, found by its merge key and added if it is missing.

    ``key`` is None if it contains an expression: the key is then that of the new item.
    """

    cdef OverlayChange change
    cdef object key


cdef class EachItemChange:
    """A change of every item for which the conditions hold and which has the key, if given."""

    cdef OverlayScope scope
    cdef OverlayChange change      # None: the items are removed
    cdef ItemChange key

    cdef list applied(self, list items, SchemaType type, OverlayRun work)


cdef class ListChange(OverlayChange):
    """A list whose items are changed one by one: first ``items`` by key, then ``each``.

    ``removed`` are items to remove, with their keys only. ``prepends``: new items go before those
    of the live list, not after them.
    """

    cdef SchemaType type
    cdef tuple items
    cdef tuple removed
    cdef tuple each
    cdef str path
    cdef bint prepends

    cdef list keyed(self, list live, OverlayRun work)


cdef class WholeListChange(OverlayChange):
    """A list with expressions that replaces the live list as a whole.

    ``appends``: its items are added at the end instead, unless the live list has an equal one;
    ``prepends``: likewise at the beginning.
    """

    cdef tuple items
    cdef bint appends
    cdef bint prepends


cdef class BoundOverlay:
    """A whole overlay. ``expressions`` is their number."""

    cdef OverlayScope scope
    cdef OverlayChange change
    cdef readonly Py_ssize_t expressions

    # The changed object, or ``obj`` itself.
    cdef object applied(self, object obj, OverlayRun work)


# The state before evaluation. For an overlay with expressions, set the activation too.
cdef OverlayRun overlay_run(BoundOverlay overlay, int64_t deadline, Edits edits)

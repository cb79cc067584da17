"""The lists of a pattern: every item, no item, at least one item."""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport PatternCheck


cdef class ListCheck(PatternCheck):
    """A list: each item must fit every check of ``each``, and one of ``any_of`` if there are any.

    With ``some`` an empty list is skipped: below a condition it must be there.
    """
    cdef tuple each
    cdef tuple any_of
    cdef bint some

    cdef int test_item(self, object item, Activation act) except -1


cdef class EmptyList(PatternCheck):
    """``[]``."""


cdef class ExistsCheck(PatternCheck):
    """``^(key)``: for each of ``wanted`` at least one item of the list."""
    cdef tuple wanted

"""The lists of a pattern: every item, no item, at least one item."""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport PatternCheck


cdef class ListCheck(PatternCheck):
    """A list: each item must fit all checks of ``each``, and one of ``any_of`` if there are any.

    With ``some`` an empty list is skipped: below a condition the list must have items.
    """
    cdef readonly tuple each
    cdef readonly tuple any_of
    cdef readonly bint some

    cdef int test_item(self, object item, Activation act) except -1


cdef class EmptyList(PatternCheck):
    """``[]``."""


cdef class ExistsCheck(PatternCheck):
    """``^(key)``: at least one item of the list fits each check of ``wanted``."""
    cdef readonly tuple wanted

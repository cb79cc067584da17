"""The lists of a pattern: every item, no item, at least one item."""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport PatternCheck


cdef class ListCheck(PatternCheck):
    cdef readonly tuple each
    cdef readonly tuple any_of
    cdef readonly bint some

    cdef int test_item(self, object item, Activation act) except -1


cdef class EmptyList(PatternCheck):
    pass

cdef class ExistsCheck(PatternCheck):
    cdef readonly tuple wanted

"""The leaves of a pattern: comparisons of scalars."""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport PatternCheck
from policyd._core.pattern.strings cimport Amount, Wildcard


cdef class Anything(PatternCheck):
    pass

cdef class Something(PatternCheck):
    pass

cdef class Unset(PatternCheck):
    pass

cdef class LeafCheck(PatternCheck):
    cdef bint fits(self, object value, Activation act) except -1


cdef class BoolLeaf(LeafCheck):
    cdef readonly bint value


cdef class NumberLeaf(LeafCheck):
    cdef readonly object value
    cdef readonly Amount amount


cdef class StringLeaf(LeafCheck):
    cdef readonly str literal
    cdef readonly tuple terms


cdef class Term:
    cdef bint fits(self, object value, Activation act) except -1


cdef class EqualTerm(Term):
    cdef readonly Wildcard wildcard
    cdef readonly Amount amount
    cdef readonly bint negative


cdef enum Comparison:
    MORE
    MORE_OR_EQUAL
    LESS
    LESS_OR_EQUAL


cdef class CompareTerm(Term):
    cdef readonly Amount amount
    cdef readonly str operator
    cdef Comparison comparison


cdef class RangeTerm(Term):
    cdef readonly Amount low
    cdef readonly Amount high
    cdef readonly bint outside


cdef class AllTerm(Term):
    cdef readonly tuple terms

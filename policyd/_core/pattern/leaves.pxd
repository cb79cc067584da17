"""The leaves of a pattern: comparisons of scalars.

If the object has a list, a leaf checks each item; if it has a map, only ``*`` and ``?*`` can hold.
For a missing value only ``null`` holds.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport PatternCheck
from policyd._core.pattern.strings cimport Amount, Wildcard


cdef class Anything(PatternCheck):
    """``*``: any value."""


cdef class Something(PatternCheck):
    """``?*``: any value that is not empty."""


cdef class Unset(PatternCheck):
    """``null``: no value, or the zero value of Go: false, 0 or an empty string."""


cdef class LeafCheck(PatternCheck):
    """A leaf that compares a scalar."""

    cdef bint fits(self, object value, Activation act) except -1


cdef class BoolLeaf(LeafCheck):
    """``true`` or ``false``."""
    cdef readonly bint value


cdef class NumberLeaf(LeafCheck):
    """A number: equal to numbers, and to strings with the same quantity."""
    cdef readonly object value
    cdef readonly Amount amount


cdef class StringLeaf(LeafCheck):
    """A string: the literal itself, or one of its alternatives."""
    cdef readonly str literal
    cdef readonly tuple terms


cdef class Term:
    """A part between ``|`` and ``&``."""

    cdef bint fits(self, object value, Activation act) except -1


cdef class EqualTerm(Term):
    """A wildcard match, or an equal amount; ``negative``: neither."""
    cdef readonly Wildcard wildcard
    cdef readonly Amount amount
    cdef readonly bint negative


cdef enum Comparison:
    MORE
    MORE_OR_EQUAL
    LESS
    LESS_OR_EQUAL


cdef class CompareTerm(Term):
    """``> >= < <=`` an amount."""
    cdef readonly Amount amount
    cdef readonly str operator
    cdef Comparison comparison


cdef class RangeTerm(Term):
    """``low-high``, ends included; ``outside``: ``low!-high``, ends excluded."""
    cdef readonly Amount low
    cdef readonly Amount high
    cdef readonly bint outside


cdef class AllTerm(Term):
    """Terms joined by ``&``."""
    cdef readonly tuple terms

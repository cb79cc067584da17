"""The leaves of a pattern: what a scalar is compared with.

Where the object has a list, a leaf asks each of its items; where it has a map, only ``*`` and
``?*`` can hold. Nothing but ``null`` holds for what is missing.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport PatternCheck
from policyd._core.pattern.strings cimport Amount, Wildcard


cdef class Anything(PatternCheck):
    """``*``: whatever is there."""


cdef class Something(PatternCheck):
    """``?*``: whatever is there and not empty."""


cdef class Unset(PatternCheck):
    """``null``: missing, or what Go calls the zero value: false, 0 or an empty text."""


cdef class LeafCheck(PatternCheck):
    """A leaf that compares scalars."""

    cdef bint fits(self, object value, Activation act) except -1


cdef class BoolLeaf(LeafCheck):
    """``true`` or ``false``."""
    cdef readonly bint value


cdef class NumberLeaf(LeafCheck):
    """A number: equal to numbers, and to texts that say the same quantity."""
    cdef readonly object value
    cdef Amount amount


cdef class StringLeaf(LeafCheck):
    """A text: itself, or one of its alternatives."""
    cdef readonly str literal
    cdef tuple terms


cdef class Term:
    """What stands between ``|`` and ``&``."""

    cdef bint fits(self, object value, Activation act) except -1


cdef class EqualTerm(Term):
    """A wildcard, or an amount of the same size; ``negative``: neither."""
    cdef Wildcard wildcard
    cdef Amount amount
    cdef bint negative


cdef enum Comparison:
    MORE
    MORE_OR_EQUAL
    LESS
    LESS_OR_EQUAL


cdef class CompareTerm(Term):
    """``> >= < <=`` an amount."""
    cdef Amount amount
    cdef Comparison comparison


cdef class RangeTerm(Term):
    """``low-high`` with its ends; ``outside``: ``low!-high`` without them."""
    cdef Amount low
    cdef Amount high
    cdef bint outside


cdef class AllTerm(Term):
    """Terms joined by ``&``."""
    cdef tuple terms

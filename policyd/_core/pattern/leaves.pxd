"""The leaves of a pattern: what a scalar is compared with.

Where the object has a list, a leaf asks each of its items; where it has a map, only ``*`` and
``?*`` can hold. Nothing but ``null`` holds for what is missing.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.checks cimport Check
from policyd._core.pattern.strings cimport Amount, Wildcard


cdef class Anything(Check):
    """``*``: whatever is there."""


cdef class Something(Check):
    """``?*``: whatever is there and not empty."""


cdef class Unset(Check):
    """``null``: missing, or what Go calls the zero value: false, 0 or an empty text."""


cdef class Leaf(Check):
    """A leaf that compares scalars."""

    cdef bint fits(self, object value, Activation act) except -1


cdef class Flag(Leaf):
    """``true`` or ``false``."""
    cdef readonly bint value


cdef class Number(Leaf):
    """A number: equal to numbers, and to texts that say the same quantity."""
    cdef readonly object value
    cdef Amount amount


cdef class Text(Leaf):
    """A text: itself, or one of its alternatives."""
    cdef readonly str literal
    cdef tuple terms


cdef class Term:
    """What stands between ``|`` and ``&``."""

    cdef bint fits(self, object value, Activation act) except -1


cdef class Equal(Term):
    """A wildcard, or an amount of the same size; ``negative``: neither."""
    cdef Wildcard wildcard
    cdef Amount amount
    cdef bint negative


cdef enum Comparison:
    MORE
    MORE_OR_EQUAL
    LESS
    LESS_OR_EQUAL


cdef class Compare(Term):
    """``> >= < <=`` an amount."""
    cdef Amount amount
    cdef Comparison comparison


cdef class Range(Term):
    """``low-high`` with its ends; ``outside``: ``low!-high`` without them."""
    cdef Amount low
    cdef Amount high
    cdef bint outside


cdef class All(Term):
    """Terms joined by ``&``."""
    cdef tuple terms

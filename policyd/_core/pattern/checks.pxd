"""A compiled pattern: a tree of checks, made once by ``policyd/pattern`` and immutable.

``null`` and a missing key are the same thing to every check. Recursion follows the pattern, whose
depth is bounded where it is compiled, never the object.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.report cimport PatternReport
from policyd._core.pattern.strings cimport Wildcard


cdef enum PatternResult:
    FAILS = 0
    SKIPPED = 1  # a condition does not hold: nothing is said about this part
    HOLDS = 2


cdef class PatternCheck:
    """One place of a pattern. ``expected`` is what a message says should be there."""

    cdef readonly str expected

    # A Result. Raises only DeadlineExceeded.
    cdef int test(self, object value, Activation act) except -1
    # Note in the report every place where a value that fails does so.
    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1


cdef class PatternEntry:
    """One key of a map pattern. The subclasses are its marks, and keys with wildcards."""

    cdef readonly str key
    cdef readonly PatternCheck check

    cdef int test(self, dict value, Activation act) except -1
    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1


cdef class IfPresent(PatternEntry):
    """``=(key)``."""


cdef class Absent(PatternEntry):
    """``X(key)``."""


cdef class SomeKey(PatternEntry):
    """``app.*``: one of the keys of that form must fit."""
    cdef Wildcard wildcard


cdef class EachKey(PatternEntry):
    """``=(app.*)``: every key of that form must fit."""
    cdef Wildcard wildcard


cdef class NoKey(PatternEntry):
    """``X(app.*)``: there must be no key of that form."""
    cdef Wildcard wildcard


cdef class MapCheck(PatternCheck):
    """A map: its conditions first, then every other entry."""
    cdef tuple conditions
    cdef tuple entries


cdef class Pattern:
    """A whole pattern. ``guard`` holds what ``<(key)`` asks of the object, or is None."""

    cdef readonly PatternCheck root
    cdef readonly PatternCheck guard

    cdef int test(self, object value, Activation act) except -1
    cdef str explain(self, object value, str within, bint secret, Activation act)
    # Why a value that fails does so, the places below `within`.
    cdef str explanation(self, object value, str within, Activation act)


cdef class AnyPattern(Pattern):
    """Patterns one of which must hold; those that are skipped count only if none fails."""
    cdef readonly tuple patterns

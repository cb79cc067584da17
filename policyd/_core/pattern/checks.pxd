"""A compiled pattern: an immutable tree of checks, created once by ``policyd/pattern``.

Every check treats ``null`` like a missing key. Recursion follows the pattern, whose depth the
compiler limits, not the object.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.report cimport PatternReport
from policyd._core.pattern.strings cimport Wildcard


cdef enum PatternResult:
    FAILS = 0
    SKIPPED = 1  # a condition does not hold: this part is not checked
    HOLDS = 2


cdef class PatternCheck:
    """One node of a pattern. ``expected`` describes the expected value in messages."""

    cdef readonly str expected

    # Returns a PatternResult. Raises only DeadlineExceeded.
    cdef int test(self, object value, Activation act) except -1
    # Adds every place where a value fails to the report. Called only for values that fail.
    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1


cdef class PatternEntry:
    """One key of a map pattern. The subclasses are for marked keys and keys with wildcards."""

    cdef readonly str key
    cdef readonly PatternCheck check

    cdef int test(self, dict value, Activation act) except -1
    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1


cdef class IfPresent(PatternEntry):
    """``=(key)``."""


cdef class Absent(PatternEntry):
    """``X(key)``."""


cdef class SomeKey(PatternEntry):
    """``app.*``: at least one matching key must fit."""
    cdef readonly Wildcard wildcard


cdef class EachKey(PatternEntry):
    """``=(app.*)``: every matching key must fit."""
    cdef readonly Wildcard wildcard


cdef class NoKey(PatternEntry):
    """``X(app.*)``: there must be no matching key."""
    cdef readonly Wildcard wildcard


cdef class MapCheck(PatternCheck):
    """A map: first its conditions, then all other entries."""
    cdef readonly tuple conditions
    cdef readonly tuple entries


cdef class Pattern:
    """A whole pattern. ``guard`` checks the conditions ``<(key)``; None if there are none."""

    cdef readonly PatternCheck root
    cdef readonly PatternCheck guard

    cdef int test(self, object value, Activation act) except -1
    cdef PatternReport explain(self, object value, str within, bint secret, Activation act)
    # Why a value fails, with paths below `within`.
    cdef PatternReport explanation(self, object value, str within, Activation act)


cdef class AnyPattern(Pattern):
    """Patterns of which one must hold; skipped only if none holds and none fails."""
    cdef readonly tuple patterns

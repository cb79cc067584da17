"""A compiled pattern: an immutable tree of checks, created once by ``policyd/pattern``."""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.report cimport PatternReport
from policyd._core.pattern.strings cimport Wildcard


cdef enum PatternResult:
    FAILS = 0
    SKIPPED = 1  # a condition does not hold: this part is not checked
    HOLDS = 2


cdef class PatternCheck:
    cdef readonly str expected

    cdef int test(self, object value, Activation act) except -1
    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1


cdef class PatternEntry:
    cdef readonly str key
    cdef readonly PatternCheck check

    cdef int test(self, dict value, Activation act) except -1
    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1


cdef class IfPresent(PatternEntry):
    pass

cdef class Absent(PatternEntry):
    pass

cdef class SomeKey(PatternEntry):
    cdef readonly Wildcard wildcard


cdef class EachKey(PatternEntry):
    cdef readonly Wildcard wildcard


cdef class NoKey(PatternEntry):
    cdef readonly Wildcard wildcard


cdef class MapCheck(PatternCheck):
    cdef readonly tuple conditions
    cdef readonly tuple entries


cdef class Pattern:
    cdef readonly PatternCheck root
    cdef readonly PatternCheck guard

    cdef int test(self, object value, Activation act) except -1
    cdef PatternReport explain(self, object value, str within, bint secret, Activation act)
    cdef PatternReport explanation(self, object value, str within, Activation act)


cdef class AnyPattern(Pattern):
    cdef readonly tuple patterns

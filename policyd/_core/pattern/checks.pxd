"""A compiled pattern: an immutable tree of checks, created once by ``policyd/pattern``."""

from policyd._core.values.activation cimport Activation
from policyd._core.pattern.report cimport PatternReport


cdef enum PatternResult:
    FAILS = 0
    SKIPPED = 1  # a condition does not hold: this part is not checked
    HOLDS = 2


cdef class PatternCheck:
    cdef readonly str expected

    cdef int test(self, object value, Activation act) except -1
    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1


cdef class Pattern:
    cdef readonly PatternCheck root
    cdef readonly PatternCheck guard

    cdef int test(self, object value, Activation act) except -1
    cdef PatternReport explain(self, object value, str within, bint secret, Activation act)
    cdef PatternReport explanation(self, object value, str within, Activation act)

"""Per-policy counters and histograms of durations."""

cpdef enum:
    ADMIT = 0
    DENY = 1
    WARN = 2
    AUDIT = 3
    ERROR = 4
    TIMEOUT = 5
    EXEMPT = 6
    WOULD_DENY = 7
    WOULD_MUTATE = 8


cdef class PolicyCounters:
    cdef readonly str name
    cdef long long[9] decisions
    cdef long long evaluation_ns
    cdef long long cost_units

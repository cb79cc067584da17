"""Per-policy counters: plain C integers, touched once per policy and request."""

cpdef enum:
    ADMIT = 0
    DENY = 1
    WARN = 2
    AUDIT = 3
    ERROR = 4
    TIMEOUT = 5


cdef class PolicyCounters:
    """What one policy (by name) has decided so far; lives on when the policy set is swapped."""

    cdef readonly str name
    cdef long long[6] decisions
    cdef long long evaluation_ns
    cdef long long cost_units

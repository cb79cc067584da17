"""Per-policy counters and histograms of durations: plain C integers, updated in each request.

They are read only when metrics are scraped. Only the thread of the event loop counts.
"""

#: ADMIT: int
#: DENY: int
#: WARN: int
#: AUDIT: int
#: ERROR: int
#: TIMEOUT: int
#: EXEMPT: int
#: WOULD_DENY: int
#: WOULD_MUTATE: int
#: DECISIONS: tuple[str, ...]
#: @type_check_only
#: class Snapshot(TypedDict):
#:     decisions: dict[str, int]
#:     seconds: float
#:     cost: int

DECISIONS = (
    "admit",
    "deny",
    "warn",
    "audit",
    "error",
    "timeout",
    "exempt",
    "would_deny",
    "would_mutate",
)
assert len(DECISIONS) == WOULD_MUTATE + 1


cdef class PolicyCounters:
    """The decisions of one policy, by name. Counters survive a reload of the policies."""

    def __init__(self, str name not None):
        #: (str) -> None
        self.name = name

    def count(self, int decision):
        #: (int) -> None
        """Count one decision, an index into DECISIONS."""
        if not 0 <= decision <= WOULD_MUTATE:
            raise IndexError(decision)
        self.decisions[decision] += 1

    def snapshot(self):
        #: () -> Snapshot
        """All counters: ``decisions`` by name, ``seconds`` of evaluation, ``cost`` in units."""
        cdef int i
        return {
            "decisions": {DECISIONS[i]: self.decisions[i] for i in range(WOULD_MUTATE + 1)},
            "seconds": self.evaluation_ns / 1e9,
            "cost": self.cost_units,
        }


cdef enum:
    MAX_BOUNDS = 32


cdef class Histogram:
    """Fixed buckets of nanoseconds. One thread writes; a reader sees whole Python integers."""
    cdef int size
    cdef tuple bounds_seconds
    cdef long long[32] bounds        # nanoseconds, ascending
    cdef long long[33] counts        # one more than bounds: durations above the last bound
    cdef long long total             # nanoseconds

    def __init__(self, bounds_seconds: tuple[float, ...]) -> None:
        #: (tuple[float, ...]) -> None
        if not 0 < len(bounds_seconds) <= MAX_BOUNDS or sorted(bounds_seconds) != [*bounds_seconds]:
            raise ValueError(f"expected 1 to {MAX_BOUNDS} ascending bounds, got {bounds_seconds!r}")
        cdef int i
        self.size = len(bounds_seconds)
        self.bounds_seconds = bounds_seconds
        for i in range(self.size):
            self.bounds[i] = <long long>(bounds_seconds[i] * 1e9)

    def observe(self, long long nanoseconds) -> None:
        #: (int) -> None
        """Count one duration. A duration equal to a bound counts for that bound (``le``)."""
        cdef int i = 0
        while i < self.size and nanoseconds > self.bounds[i]:
            i += 1
        self.counts[i] += 1
        self.total += nanoseconds

    def snapshot(self) -> tuple[list[tuple[float, int]], int, float]:
        #: () -> tuple[list[tuple[float, int]], int, float]
        """(bound in seconds, observations up to it) per bucket, then the total count and sum."""
        cdef int i
        cdef long long below = 0
        buckets = []
        for i in range(self.size):
            below += self.counts[i]
            buckets.append((self.bounds_seconds[i], below))
        return buckets, below + self.counts[self.size], self.total / 1e9

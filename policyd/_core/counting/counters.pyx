"""Per-policy counters: plain C integers, updated once per policy and request.

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

"""Per-policy counters: plain C integers, updated once per policy and request.

They are read only when metrics are scraped. Only the thread of the event loop counts.
"""

DECISIONS = (
    *("admit", "deny", "warn", "audit", "error", "timeout", "exempt"),
    *("would_deny", "would_mutate"),
)
assert len(DECISIONS) == WOULD_MUTATE + 1


cdef class PolicyCounters:

    def __init__(self, str name not None):
        self.name = name

    def count(self, int decision):
        """Count one decision, an index into DECISIONS."""
        if not 0 <= decision <= WOULD_MUTATE:
            raise IndexError(decision)
        self.decisions[decision] += 1

    def snapshot(self):
        """All counters: ``decisions`` by name, ``seconds`` of evaluation, ``cost`` in units."""
        cdef int i
        return {
            "decisions": {DECISIONS[i]: self.decisions[i] for i in range(WOULD_MUTATE + 1)},
            "seconds": self.evaluation_ns / 1e9,
            "cost": self.cost_units,
        }

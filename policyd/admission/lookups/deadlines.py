"""How long a policy has for a request, and how much of that it can spend waiting for lookups.

All moments are those of ``perf_counter_ns``; 0 stands for none.
"""

from time import perf_counter_ns

from policyd.policy.compile.compiled import CompiledPolicy

# What a policy keeps of its time, a tenth at most, to end by itself where an answer is late.
_LAST_NS = 50_000_000


def deadline_of(policy: CompiledPolicy, deadline: int, now: int = 0) -> int:
    """The moment by which the policy must have answered in a request with this ``deadline``.

    ``now`` is when it began (0: at this moment).
    """
    if not policy.timeout_ns:
        return deadline
    own = (now or perf_counter_ns()) + policy.timeout_ns
    return min(own, deadline) if deadline else own


def lookup_deadline(deadline: int, now: int = 0) -> int:
    """The moment after which a lookup is too late for a policy's ``deadline``.

    ``now`` is when the policy began to wait (0: at this moment).
    """
    if not deadline:
        return 0
    return deadline - min(_LAST_NS, max(0, deadline - (now or perf_counter_ns())) // 10)

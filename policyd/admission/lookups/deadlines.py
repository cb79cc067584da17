"""The time that the policies have for a request, and the part of it that it may wait for lookups.

All times are ``perf_counter_ns``; 0 means none.
"""

from time import perf_counter_ns

from policyd.policy.compile.compiled import CompiledPolicy

# The time, at most a tenth, that a policy keeps to finish by itself if a lookup is late.
_LAST_NS = 50_000_000
# The longest time that an API server waits for a webhook. An expression of a few lines can make
# values that take years to compare.
LONGEST_NS = 30_000_000_000


def bounded(deadline: int, now: int) -> int:
    """Return the deadline of an evaluation that begins ``now``: that of its caller, or else after
    the longest time that it can have in a cluster.
    """
    return deadline or now + LONGEST_NS


def deadline_of(policy: CompiledPolicy, deadline: int, now: int = 0) -> int:
    """Return the time by which the policy must finish in a request with this ``deadline``.

    ``now`` is when the policy started (0: the current time).
    """
    if not policy.timeout_ns:
        return deadline
    own = (now or perf_counter_ns()) + policy.timeout_ns
    return min(own, deadline) if deadline else own


def evaluation_deadline(deadline: int) -> int:
    """Return the time by which an evaluation that begins now and does not wait must end: half of
    what is left of the ``deadline``. The requests that were read together with it have the rest.
    """
    now = perf_counter_ns()
    return now + (deadline - now) // 2 if deadline > now else deadline


def lookup_deadline(deadline: int, now: int = 0) -> int:
    """Return the time after which a lookup is too late for a policy's ``deadline``.

    ``now`` is when the policy started to wait (0: the current time).
    """
    if not deadline:
        return 0
    return deadline - min(_LAST_NS, max(0, deadline - (now or perf_counter_ns())) // 10)

"""How long an evaluation may wait for an answer that must be fetched. Fetches nothing."""

from time import perf_counter_ns
from typing import NamedTuple

# What a policy keeps of its time, a tenth at most, to end by itself where an answer is late.
_LAST_NS = 50_000_000


class Wait(NamedTuple):
    """What must be answered before an evaluation can go on, and until when (0: whenever)."""

    questions: frozenset[object]
    until: int


def answer_by(deadline: int) -> int:
    """The moment after which an answer is too late for a policy's ``deadline``; 0: none."""
    if not deadline:
        return 0
    return deadline - min(_LAST_NS, max(0, deadline - perf_counter_ns()) // 10)

"""How long evaluations may wait for answers that must be fetched, and how they go on then.

Fetches nothing: who can wait for answers is in ``asking.py``.
"""

from collections.abc import Iterator
from itertools import chain
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from policyd.errors import Unanswered

if TYPE_CHECKING:
    from policyd.admission.engine import Engine, Judged
    from policyd.policy.compile.compiled import CompiledPolicy

# What a policy keeps of its time, a tenth at most, to end by itself where an answer is late.
_LAST_NS = 50_000_000


class Wait(NamedTuple):
    """What must be answered before an evaluation can go on, and until when (0: whenever)."""

    questions: frozenset[object]
    until: int


class Waiting(NamedTuple):
    """What is left of a policy until a question is answered: ``judged`` and ``rest``."""

    policy: "CompiledPolicy"
    judged: "Judged"
    rest: "Iterator[Judged]"
    unknown: Unanswered
    deadline: int
    answer_by: int


def answer_by(deadline: int, now: int = 0) -> int:
    """The moment after which an answer is too late for a policy's ``deadline``; 0: none.

    ``now`` is when the policy began to wait (0: at this moment).
    """
    if not deadline:
        return 0
    return deadline - min(_LAST_NS, max(0, deadline - (now or perf_counter_ns())) // 10)


def wait_of(waiting: tuple[Waiting, ...]) -> Wait:
    """For what the policies wait, until the first of them can wait no longer."""
    until = min((each.answer_by for each in waiting if each.answer_by), default=0)
    return Wait(frozenset(each.unknown.question for each in waiting), until)


def resume(engine: "Engine") -> None:
    """Go on with the policies that wait: an answer that is still pending is an error now, unless
    there is time to wait for it.
    """
    waiting, engine.waiting = engine.waiting, ()
    for each in waiting:
        policy, judged, rest, unknown, deadline, by = each
        if unknown.question not in engine.pending:
            rest = chain((judged,), rest)
            question = unknown.question
            engine.guarded(policy, engine.validate_each, policy, rest, question, deadline)
        elif 0 < by <= perf_counter_ns():
            engine.failed(policy, judged.binding, str(unknown))
            engine.guarded(policy, engine.validate_each, policy, rest)
        else:
            engine.waiting += (each,)
    engine.verdict.findings.sort(key=lambda finding: finding.policy.sort_key)

"""Evaluations that wait for lookups: generators that yield the lookups they need to continue.
Expressions are pure, so an interrupted expression is evaluated again. Also the deadlines of
policies and of their lookups: ``perf_counter_ns`` times, 0 means none.

Fetches nothing: ``run`` runs evaluations without a cluster, ``with_cluster.py`` with one.
"""

from collections.abc import Callable, Container, Generator
from contextlib import suppress
from time import perf_counter_ns
from typing import NamedTuple, TypeVar

from policyd.errors import Unanswered
from policyd.policy.compile.compiled import CompiledPolicy

_Result = TypeVar("_Result")


class Lookup(NamedTuple):
    """The questions that an evaluation needs answered to continue, and how long it can wait
    (a ``perf_counter_ns`` time; 0: no limit).
    """

    questions: frozenset[object]
    until: int


# Yields lookups, and is sent the questions that are still unanswered.
Evaluation = Generator[Lookup, Container[object], _Result]


class Paused(NamedTuple):
    """An evaluation that waits for a lookup."""

    evaluation: Evaluation[None]
    lookup: Lookup


def run(evaluation: Evaluation[_Result]) -> _Result:
    """Return the result without any lookup: data that is still unknown in the second evaluation is
    an error.
    """
    try:
        next(evaluation)
        while True:
            evaluation.send(())
    except StopIteration as done:
        result: _Result = done.value
        return result


def answered(
    evaluate: Callable[[], _Result], unknown: Unanswered, deadline: int
) -> Evaluation[_Result]:
    """Return the result of ``evaluate`` once its questions are answered; ``unknown`` is the first.

    Raises Unanswered for a question that is still unanswered when time is up, or that is raised
    again although it was answered.
    """
    while True:
        question = unknown.question
        still_open = yield Lookup(frozenset((question,)), lookup_deadline(deadline))
        if question in still_open:
            raise unknown
        try:
            return evaluate()
        except Unanswered as another:
            if another.question == question:
                raise
            unknown = another


def together(paused: list[Paused]) -> Evaluation[None]:
    """Run evaluations that wait at the same time, keeping their order. Each continues when its
    questions are answered, or when it can wait no longer.
    """
    while paused:
        until = min((each.lookup.until for each in paused if each.lookup.until), default=0)
        questions = frozenset[object]().union(*(each.lookup.questions for each in paused))
        still_open = yield Lookup(questions, until)
        left: list[Paused] = []
        for each in paused:
            lookup = each.lookup
            waits = any(question in still_open for question in lookup.questions)
            if waits and not 0 < lookup.until <= perf_counter_ns():
                left.append(each)
                continue
            with suppress(StopIteration):
                left.append(Paused(each.evaluation, each.evaluation.send(still_open)))
        paused = left


# The time, at most a tenth, that a policy keeps to finish by itself if a lookup is late.
_LAST_NS = 50_000_000
# The longest time that an API server waits for a webhook. An expression of a few lines can make
# values that take years to compare.
LONGEST_NS = 30_000_000_000


def bounded(deadline: int, now: int) -> int:
    """Return the deadline of an evaluation that begins ``now``: its caller's, or else the longest
    time that it can have in a cluster.
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
    the time left until ``deadline``. Requests that were read together with it get the rest.
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

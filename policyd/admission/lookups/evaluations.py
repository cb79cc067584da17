"""Evaluations that wait for lookups: generators that yield the lookups they need to continue.
Expressions are pure, so an interrupted expression is evaluated again.

Fetches nothing: ``run`` drives evaluations without a cluster, ``with_cluster.py`` drives them with
one.
"""

from collections.abc import Callable, Container, Generator
from contextlib import suppress
from time import perf_counter_ns
from typing import NamedTuple, TypeVar

from policyd.admission.lookups.deadlines import lookup_deadline
from policyd.errors import Unanswered

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
    """Return the result without any lookup: data still unknown at the second evaluation is an
    error.
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

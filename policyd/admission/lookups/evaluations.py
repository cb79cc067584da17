"""How an evaluation waits for lookups: it is a generator that yields what must be looked up before
it can go on. Expressions are pure, so what could not be evaluated is evaluated again.

Looks nothing up: ``run`` drives evaluations where nobody does, ``with_cluster.py`` drives them
where a cluster is queried meanwhile.
"""

from collections.abc import Callable, Container, Generator
from contextlib import suppress
from time import perf_counter_ns
from typing import NamedTuple, TypeVar

from policyd.admission.lookups.deadlines import lookup_deadline
from policyd.errors import Unanswered

_Result = TypeVar("_Result")


class Lookup(NamedTuple):
    """The questions that must be answered before an evaluation can go on, and until when it can
    wait for the answers (a moment of ``perf_counter_ns``; 0: as long as it takes).
    """

    questions: frozenset[object]
    until: int


# Yields lookups, and is sent the questions that are still open.
Evaluation = Generator[Lookup, Container[object], _Result]


class Paused(NamedTuple):
    """An evaluation that waits for a lookup."""

    evaluation: Evaluation[None]
    lookup: Lookup


def run(evaluation: Evaluation[_Result]) -> _Result:
    """The result where nobody looks anything up: what is still unknown when it is evaluated again
    is an error.
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
    """What ``evaluate`` gives once its questions are answered, of which ``unknown`` is the first.

    Raises Unanswered for a question that is still open when time is up, or that is needed
    once more although it was answered.
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
    """Evaluations that wait at the same time; their order is kept. Each goes on when its questions
    are answered, or when it can wait no longer.
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

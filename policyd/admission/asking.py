"""Reviews for which a cluster must be asked: what is not known yet, of the authorizer or of the
namespace, is fetched between evaluations, so that the event loop goes on.

Knows no cluster; who asks one is an argument.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from time import perf_counter_ns
from typing import Any, Protocol, TypeVar

from policyd.admission import mutating
from policyd.admission.asked_namespace import AskedNamespaces, NamespaceName
from policyd.admission.asked_params import AskedParams, KindOf, ParamsOf, open_questions
from policyd.admission.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.decision import respond
from policyd.admission.engine import Engine, Matched, Only, Webhook
from policyd.admission.recorder import LookupResult, NullRecorder, Question, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.admission.waiting import Wait, answer_by, resume, wait_of
from policyd.errors import Unanswered
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import PolicySet
from policyd.policy.live.reach import Served

_LATE = Failure("there was no answer in time")
Answer = TypeVar("Answer")


class Cluster(Protocol):
    """Who is asked. Where it cannot find out, it says so with a Failure: it raises nothing."""

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        """Whether a user may do something."""

    async def namespace(self, name: str) -> JSONObject | Failure:
        """A Namespace object."""

    def known_namespace(self, name: str) -> JSONObject | None:
        """The same, where it need not ask."""

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """The resource of a kind; empty where there is no such kind."""

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """The same, where it need not ask."""

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Objects of a kind; empty where there are none."""

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        """The same, where it need not ask."""


class Answers:
    """What is fetched for one request, each question once and at once; its Authorizer, too."""

    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._tasks: dict[object, asyncio.Task[Any]] = {}
        self._late: set[object] = set()

    def check(self, attributes: Attributes) -> AccessDecision | Failure | None:
        """What is known; a question that is new begins to be fetched when the loop goes on."""
        return self._look("authorizer", attributes, lambda: self._cluster.may(attributes))

    def namespace(self, question: NamespaceName) -> JSONObject | Failure | None:
        """The same for a Namespace object."""
        name = question.name
        known = self._cluster.known_namespace(name)
        if known is not None:
            return known
        return self._look("namespace", question, lambda: self._cluster.namespace(name))

    def kind(self, question: KindOf) -> tuple[Served, ...] | Failure | None:
        """The same for the resource of a parameter kind."""
        known = self._cluster.known_kind(question)
        if known is not None:
            return known
        return self._look("kind", question, lambda: self._cluster.kind(question))

    def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure | None:
        """The same for parameter objects."""
        known = self._cluster.known_params(question)
        if known is not None:
            return known
        return self._look("param", question, lambda: self._cluster.params(question))

    def _look(
        self, what: Question, question: object, fetch: Callable[[], Awaitable[Answer | Failure]]
    ) -> Answer | Failure | None:
        task = self._tasks.get(question)
        if task is None:
            self._tasks[question] = asyncio.ensure_future(self._ask(what, fetch))
            return None
        if not task.done():
            return _LATE if question in self._late else None
        found: Answer | Failure = task.result()
        return found

    async def _ask(
        self, what: Question, fetch: Callable[[], Awaitable[Answer | Failure]]
    ) -> Answer | Failure:
        started = perf_counter_ns()
        result: LookupResult = "timeout"  # what is cancelled was too late
        try:
            answer = await fetch()
            result = "error" if isinstance(answer, Failure) else "success"
            return answer
        finally:
            self._recorder.lookup(what, result, perf_counter_ns() - started)

    def give_up(self, question: object) -> None:
        """From now on, not to know the answer is an answer."""
        self._late.add(question)

    @property
    def pending(self) -> frozenset[object]:
        """The questions without an answer."""
        return frozenset(each for each, task in self._tasks.items() if not task.done())

    async def wait(self, wanted: Wait) -> None:
        """Wait for the answers to these questions, other ones may come later."""
        tasks = [self._tasks[each] for each in self.pending & wanted.questions]
        if tasks:
            until = wanted.until
            seconds = max(0, until - perf_counter_ns()) / 1e9 if until else None
            await asyncio.wait(tasks, timeout=seconds)

    def close(self) -> None:
        """Nobody waits any longer."""
        for task in self._tasks.values():
            task.cancel()  # of what is done already: nothing


async def review_with(
    cluster: Cluster,
    policy_set: PolicySet,
    request: AdmissionRequest,
    *,
    webhook: Webhook,
    deadline: int = 0,
    recorder: Recorder | None = None,
    only: Only | None = None,
) -> AdmissionResponse:
    """``engine.review`` that asks ``cluster``.

    What policies ask at the same time is fetched at the same time. An answer that is not there
    shortly before the deadline of its policy, which may be earlier than the request's, is an error.
    """
    recorder = recorder or NullRecorder()
    answers = Answers(cluster, recorder)
    policies = policy_set.knowing(
        AskedNamespaces(answers.namespace),
        AskedParams(policy_set.params, answers.kind, answers.params),
    )
    subjects = Subjects(request, policies.namespaces, answers)
    engine = Engine(policies, subjects, webhook, deadline, recorder)
    try:
        matches = await _matched(engine, answers, only)
        work = mutating.steps(engine, matches) if webhook == "mutate" else _steps(engine, matches)
        while True:
            await _waited(engine, answers, next(work))
    except StopIteration as done:
        response: AdmissionResponse = done.value
    finally:
        answers.close()
    if engine.waited_ns:
        recorder.phase("lookup", engine.waited_ns)
    return response


async def _matched(engine: Engine, answers: Answers, only: Only | None) -> list[Matched]:
    """The policies that the request concerns, when all that it takes to tell is known."""
    started = perf_counter_ns()
    broken: set[tuple[str, str]] = set()
    while True:
        matches: list[Matched] = []
        try:
            matches = [each for each in engine.matches(only) if each[0].sort_key not in broken]
            wanted = _wanted(engine, matches, started, broken)
        except Unanswered as unknown:
            wanted = {unknown.question: answer_by(engine.deadline, started)}
        if not wanted:
            engine.recorder.phase("match", perf_counter_ns() - started - engine.waited_ns)
            return [each for each in matches if each[0].sort_key not in broken]
        until = min((by for by in wanted.values() if by), default=0)
        await _waited(engine, answers, Wait(frozenset(wanted), until))
        now = perf_counter_ns()
        for question, by in wanted.items():
            if 0 < by <= now:
                answers.give_up(question)


def _wanted(
    engine: Engine, matches: list[Matched], started: int, broken: set[tuple[str, str]]
) -> dict[object, int]:
    """What must be answered before these policies can be judged, and until when (0: whenever): for
    as long as one of those who ask may wait. A policy with a defect is noted in ``broken``.
    """
    wanted: dict[object, int] = {}
    for match in matches:
        policy = match[0]
        questions = engine.guarded(policy, open_questions, engine, match)
        if questions is None:
            broken.add(policy.sort_key)
        elif questions:
            by = answer_by(engine.deadline_of(policy, started), started)
            for question in questions:
                known = wanted.get(question, by)
                wanted[question] = max(by, known) if by and known else 0
    return wanted


async def _waited(engine: Engine, answers: Answers, wanted: Wait) -> None:
    started = perf_counter_ns()
    await answers.wait(wanted)
    engine.waited_ns += perf_counter_ns() - started
    engine.pending = answers.pending


def _steps(engine: Engine, matches: list[Matched]) -> Generator[Wait, None, AdmissionResponse]:
    """Validate and answer; yields where the authorizer has to answer first."""
    started, waited = perf_counter_ns(), engine.waited_ns
    engine.validate(matches)
    while engine.waiting:
        yield wait_of(engine.waiting)
        resume(engine)
    waited = engine.waited_ns - waited
    engine.recorder.phase("evaluate", perf_counter_ns() - started - waited)
    return respond(engine.request, engine.verdict, engine.policies.generation)

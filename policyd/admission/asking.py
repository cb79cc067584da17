"""Reviews with an authorizer that must be waited for, such as a cluster's: what is not known yet
is fetched between evaluations, so that the event loop goes on.

Knows no cluster; who fetches is an argument.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from time import perf_counter_ns

from policyd.admission import mutating
from policyd.admission.authorizer import Attributes, Decision, Failure, Wait
from policyd.admission.decision import respond
from policyd.admission.engine import Engine, Matched, Only, Webhook
from policyd.admission.recorder import LookupResult, NullRecorder, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.policy.policy_set import PolicySet

# Where it cannot find out, it says so with a Failure: it raises nothing.
Fetch = Callable[[Attributes], Awaitable[Decision | Failure]]


class Answers:
    """The Authorizer of one request: what is fetched for it, each question once and at once."""

    def __init__(self, fetch: Fetch, recorder: Recorder) -> None:
        self._fetch = fetch
        self._recorder = recorder
        self._tasks: dict[Attributes, asyncio.Task[Decision | Failure]] = {}

    def check(self, attributes: Attributes) -> Decision | Failure | None:
        """What is known; a question that is new begins to be fetched when the loop goes on."""
        task = self._tasks.get(attributes)
        if task is None:
            self._tasks[attributes] = asyncio.ensure_future(self._ask(attributes))
            return None
        return task.result() if task.done() else None

    async def _ask(self, attributes: Attributes) -> Decision | Failure:
        started = perf_counter_ns()
        result: LookupResult = "timeout"  # what is cancelled was too late
        try:
            answer = await self._fetch(attributes)
            result = "error" if isinstance(answer, Failure) else "success"
            return answer
        finally:
            self._recorder.lookup("authorizer", result, perf_counter_ns() - started)

    @property
    def pending(self) -> frozenset[Attributes]:
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
    fetch: Fetch,
    policy_set: PolicySet,
    request: AdmissionRequest,
    *,
    webhook: Webhook,
    deadline: int = 0,
    recorder: Recorder | None = None,
    only: Only | None = None,
) -> AdmissionResponse:
    """``engine.review`` whose authorizer is ``fetch``.

    What policies ask at the same time is fetched at the same time. An answer that is not there
    shortly before the deadline of its policy, which may be earlier than the request's, is an error.
    """
    recorder = recorder or NullRecorder()
    answers = Answers(fetch, recorder)
    started = perf_counter_ns()
    subjects = Subjects(request, policy_set.namespaces, answers)
    engine = Engine(policy_set, subjects, webhook, deadline, recorder)
    matches = engine.matches(only)
    recorder.phase("match", perf_counter_ns() - started)
    work = (
        mutating.steps(engine, matches) if webhook == "mutate" else _steps(engine, answers, matches)
    )
    try:
        while True:
            wanted = next(work)
            waiting = perf_counter_ns()
            await answers.wait(wanted)
            engine.waited_ns += perf_counter_ns() - waiting
    except StopIteration as done:
        response: AdmissionResponse = done.value
    finally:
        answers.close()
    if engine.waited_ns:
        recorder.phase("lookup", engine.waited_ns)
    return response


def _steps(
    engine: Engine, answers: Answers, matches: list[Matched]
) -> Generator[Wait, None, AdmissionResponse]:
    """Validate and answer; yields where the authorizer has to answer first."""
    started = perf_counter_ns()
    engine.validate(matches)
    while engine.waiting:
        yield engine.wait
        engine.resume(answers.pending)
    engine.recorder.phase("evaluate", perf_counter_ns() - started - engine.waited_ns)
    return respond(engine.request, engine.verdict, engine.policies.generation)

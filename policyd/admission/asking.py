"""Reviews with an authorizer that must be waited for, such as a cluster's: what is not known yet
is fetched between evaluations, so that the event loop goes on.

Knows no cluster; who fetches is an argument.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from time import perf_counter_ns

from policyd.admission import mutating
from policyd.admission.authorizer import Attributes, Decision
from policyd.admission.decision import respond
from policyd.admission.engine import Engine, Matched, Only, Webhook
from policyd.admission.recorder import NullRecorder, Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.admission.subject import Subjects
from policyd.policy.policy_set import PolicySet

# Where it cannot find out, that is the Decision's ``error``: it raises nothing.
Fetch = Callable[[Attributes], Awaitable[Decision]]


class Answers:
    """The Authorizer of one request: what was fetched for it, each question once."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[Attributes, Decision] = {}
        self._open: dict[Attributes, None] = {}

    def check(self, attributes: Attributes) -> Decision | None:
        """What is known; a question that is new is kept for ``fetch``."""
        decision = self._known.get(attributes)
        if decision is None:
            self._open[attributes] = None
        return decision

    async def fetch(self, deadline: int) -> None:
        """Fetch what was asked for, side by side; what is late at the deadline stays unknown."""
        tasks = {each: asyncio.ensure_future(self._fetch(each)) for each in self._open}
        self._open = {}
        seconds = max(0, deadline - perf_counter_ns()) / 1e9 if deadline else None
        try:
            done, _ = await asyncio.wait(tasks.values(), timeout=seconds)
        finally:
            for task in tasks.values():
                task.cancel()  # of what is done already: nothing
        self._known |= {each: task.result() for each, task in tasks.items() if task in done}


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

    What policies ask at the same time is fetched at the same time; what was not fetched by the
    deadline is an error, as is every policy that runs after it.
    """
    answers = Answers(fetch)
    recorder = recorder or NullRecorder()
    started = perf_counter_ns()
    subjects = Subjects(request, policy_set.namespaces, answers)
    engine = Engine(policy_set, subjects, webhook, deadline, recorder)
    matches = engine.matches(only)
    recorder.phase("match", perf_counter_ns() - started)
    work = (mutating.steps if webhook == "mutate" else _steps)(engine, matches)
    while True:
        try:
            next(work)
        except StopIteration as done:
            response: AdmissionResponse = done.value
            return response
        await answers.fetch(deadline)


def _steps(engine: Engine, matches: list[Matched]) -> Generator[None, None, AdmissionResponse]:
    """Validate and answer; yields where the authorizer has to answer first."""
    started = perf_counter_ns()
    engine.validate(matches)
    while engine.waiting:
        yield
        engine.resume()
    engine.recorder.phase("evaluate", perf_counter_ns() - started)
    return respond(engine.request, engine.verdict, engine.policies.generation)

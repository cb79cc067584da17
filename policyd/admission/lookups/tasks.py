"""The lookups of one request in a cluster: each question is sent once, in a task of its own, so
that the event loop goes on meanwhile.

Knows no cluster: the client is an argument.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import Any, Protocol, TypeVar

from policyd.admission.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.lookups.evaluations import Evaluation, Lookup
from policyd.admission.lookups.namespaces import NamespaceName
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.admission.recorder import LookupKind, LookupResult, Recorder
from policyd.json_types import JSONObject
from policyd.policy.live.reach import Served

_LATE = Failure("there was no answer in time")
_Answer = TypeVar("_Answer")
_Result = TypeVar("_Result")


class LookupClient(Protocol):
    """Queries a cluster. What it cannot find out is a Failure: it raises nothing."""

    async def may(self, attributes: Attributes) -> AccessDecision | Failure:
        """Whether a user may do something."""

    async def namespace(self, name: str) -> JSONObject | Failure:
        """A Namespace object."""

    def known_namespace(self, name: str) -> JSONObject | None:
        """The same, where no query is needed."""

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """The resource of a kind; empty where there is no such kind."""

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """The same, where no query is needed."""

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Objects of a kind; empty where there are none."""

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        """The same, where no query is needed."""


class LookupTasks:
    """What is looked up for one request; its Authorizer, too."""

    def __init__(self, client: LookupClient, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        self._tasks: dict[object, asyncio.Task[Any]] = {}
        self._late: set[object] = set()
        self.waited_ns = 0

    def check(self, attributes: Attributes) -> AccessDecision | Failure | None:
        """What is known; a question that is new begins to be looked up when the loop goes on."""
        return self._look_up("authorizer", attributes, lambda: self._client.may(attributes))

    def namespace(self, question: NamespaceName) -> JSONObject | Failure | None:
        """The same for a Namespace object."""
        name = question.name
        known = self._client.known_namespace(name)
        if known is not None:
            return known
        return self._look_up("namespace", question, lambda: self._client.namespace(name))

    def kind(self, question: KindOf) -> tuple[Served, ...] | Failure | None:
        """The same for the resource of a parameter kind."""
        known = self._client.known_kind(question)
        if known is not None:
            return known
        return self._look_up("kind", question, lambda: self._client.kind(question))

    def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure | None:
        """The same for parameter objects."""
        known = self._client.known_params(question)
        if known is not None:
            return known
        return self._look_up("param", question, lambda: self._client.params(question))

    def clock(self) -> int:
        """``perf_counter_ns``, standing still while lookups are waited for."""
        return perf_counter_ns() - self.waited_ns

    def give_up(self, question: object) -> None:
        """From now on, not to know the answer is an answer."""
        self._late.add(question)

    async def finished(self, evaluation: Evaluation[_Result]) -> _Result:
        """The result of an evaluation; what it yields is waited for."""
        try:
            lookup = next(evaluation)
            while True:
                lookup = evaluation.send(await self._wait(lookup))
        except StopIteration as done:
            result: _Result = done.value
            return result

    def close(self) -> None:
        """Nobody waits any longer."""
        for task in self._tasks.values():
            task.cancel()  # of what is done already: nothing

    def _look_up(
        self,
        what: LookupKind,
        question: object,
        fetch: Callable[[], Awaitable[_Answer | Failure]],
    ) -> _Answer | Failure | None:
        task = self._tasks.get(question)
        if task is None:
            self._tasks[question] = asyncio.ensure_future(self._fetch(what, fetch))
            return None
        if not task.done():
            return _LATE if question in self._late else None
        found: _Answer | Failure = task.result()
        return found

    async def _fetch(
        self, what: LookupKind, fetch: Callable[[], Awaitable[_Answer | Failure]]
    ) -> _Answer | Failure:
        started = perf_counter_ns()
        result: LookupResult = "timeout"  # what is cancelled was too late
        try:
            answer = await fetch()
            result = "error" if isinstance(answer, Failure) else "success"
            return answer
        finally:
            self._recorder.lookup(what, result, perf_counter_ns() - started)

    async def _wait(self, lookup: Lookup) -> frozenset[object]:
        """Wait for the answers to these questions; the questions that are still open then."""
        started = perf_counter_ns()
        tasks = [self._tasks[each] for each in self._open() & lookup.questions]
        if tasks:
            until = lookup.until
            seconds = max(0, until - perf_counter_ns()) / 1e9 if until else None
            await asyncio.wait(tasks, timeout=seconds)
        self.waited_ns += perf_counter_ns() - started
        return self._open()

    def _open(self) -> frozenset[object]:
        """The questions without an answer."""
        return frozenset(each for each, task in self._tasks.items() if not task.done())

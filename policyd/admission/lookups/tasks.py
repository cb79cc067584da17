"""The lookups of one request in a cluster: each is sent once, in its own task, so that the event
loop keeps running.

Does not depend on a cluster: the client is an argument.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import Any, Protocol, TypeVar

from policyd._core.values.errors import CelError
from policyd.admission.lookups.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.lookups.evaluations import Evaluation, Lookup
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.admission.lookups.sources import NamespaceName
from policyd.admission.recorder import LookupKind, LookupResult, Recorder
from policyd.errors import Unanswered
from policyd.json_types import JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.kinds.served_resource import Served

_LATE = Failure("there was no answer in time")
_Answer = TypeVar("_Answer")
_Result = TypeVar("_Result")


class LookupClient(Protocol):
    """Queries a cluster. Returns a Failure if a query fails; raises nothing."""

    async def may(self, attributes: Attributes) -> AccessDecision | Failure:
        """Whether a user is allowed an action."""

    async def namespace(self, name: str) -> JSONObject | Failure:
        """Fetch a Namespace object."""

    def known_namespace(self, name: str) -> JSONObject | None:
        """Return it if known without a query, else None."""

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """Fetch the resource of a kind; empty if there is no such kind."""

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """Return it if known without a query, else None."""

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Fetch objects of a kind; empty if there are none."""

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        """Return them if known without a query, else None."""

    async def table(self, read: CompiledRead) -> ReadTable | Failure:
        """Return the objects of a read as soon as they are known."""

    def known_table(self, read: CompiledRead) -> ReadTable | Failure | None:
        """Return them if they are known now, else None."""


class LookupTasks:
    """The lookups of one request; also its Authorizer."""

    def __init__(self, client: LookupClient, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        self._tasks: dict[object, asyncio.Task[Any]] = {}
        self._late: set[object] = set()
        self.waited_ns = 0

    def check(self, attributes: Attributes) -> AccessDecision | Failure | None:
        """Return the decision if known; otherwise schedule its lookup."""
        return self._look_up("authorizer", attributes, lambda: self._client.may(attributes))

    def namespace(self, question: NamespaceName) -> JSONObject | Failure | None:
        """Return a Namespace object if known; otherwise schedule its lookup."""
        name = question.name
        known = self._client.known_namespace(name)
        if known is not None:
            return known
        return self._look_up("namespace", question, lambda: self._client.namespace(name))

    def kind(self, question: KindOf) -> tuple[Served, ...] | Failure | None:
        """Return the resource of a parameter kind if known; otherwise schedule its lookup."""
        known = self._client.known_kind(question)
        if known is not None:
            return known
        return self._look_up("kind", question, lambda: self._client.kind(question))

    def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure | None:
        """Return params if known; otherwise schedule their lookup."""
        known = self._client.known_params(question)
        if known is not None:
            return known
        return self._look_up("param", question, lambda: self._client.params(question))

    def table(self, read: CompiledRead) -> ReadTable | CelError:
        """Return the objects of a read; raises Unanswered while they are not known."""
        found = self._client.known_table(read)
        if found is None:
            found = self._look_up("read", read, lambda: self._client.table(read))
        if found is None:
            unknown = f"{read.label}: the first list of these objects is not complete"
            raise Unanswered(read, unknown)
        return CelError(f"{read.label}: {found.why}") if isinstance(found, Failure) else found

    def clock(self) -> int:
        """``perf_counter_ns`` less the time spent waiting for lookups."""
        return perf_counter_ns() - self.waited_ns

    def give_up(self, question: object) -> None:
        """From now on treat the missing answer to ``question`` as its answer."""
        self._late.add(question)

    async def finished(self, evaluation: Evaluation[_Result]) -> _Result:
        """Return the result of an evaluation; wait for the lookups that it yields."""
        try:
            lookup = next(evaluation)
            while True:
                lookup = evaluation.send(await self._wait(lookup))
        except StopIteration as done:
            result: _Result = done.value
            return result

    def close(self) -> None:
        """Cancel the lookups under way."""
        for task in self._tasks.values():
            task.cancel()  # no effect on finished tasks

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
        result: LookupResult = "timeout"  # a cancelled lookup was too late
        try:
            answer = await fetch()
            result = "error" if isinstance(answer, Failure) else "success"
            return answer
        finally:
            self._recorder.lookup(what, result, perf_counter_ns() - started)

    async def _wait(self, lookup: Lookup) -> frozenset[object]:
        """Wait for the answers to these questions; return the questions still unanswered."""
        started = perf_counter_ns()
        tasks = [self._tasks[each] for each in self._open() & lookup.questions]
        if tasks:
            until = lookup.until
            seconds = max(0, until - perf_counter_ns()) / 1e9 if until else None
            await asyncio.wait(tasks, timeout=seconds)
        self.waited_ns += perf_counter_ns() - started
        return self._open()

    def _open(self) -> frozenset[object]:
        """Return the questions without an answer."""
        return frozenset(each for each, task in self._tasks.items() if not task.done())

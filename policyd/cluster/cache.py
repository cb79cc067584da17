"""Caches lookups for about a second, because concurrent requests mostly need the same answers."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Generic, TypeVar

from policyd._core.lib.authorization import Failure

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")

MEMORY_SECONDS = 1.0
MOST = 1000
# After this time the next caller restarts a running lookup: one response that never arrives must
# not stall all callers. A healthy API server takes far less time.
PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Answer]):
    """An answer, its expiry, and the start of its lookup."""

    until: float
    started: float
    answer: Answer


@dataclass(eq=False, repr=False)
class LookupCache(Generic[Question, Answer]):
    """Caches the results of ``fetch`` for some seconds; failures are not cached.

    Callers share a running lookup; it restarts only after PATIENCE_SECONDS.
    """

    fetch: Callable[[Question], Awaitable[Answer | Failure]]
    seconds: float = MEMORY_SECONDS

    def __post_init__(self) -> None:
        self._known: dict[Question, _Entry[Answer]] = {}
        self._open: dict[Question, tuple[float, asyncio.Task[Answer | Failure]]] = {}
        self._tasks: set[asyncio.Task[Answer | Failure]] = set()

    def known(self, question: Question) -> Answer | None:
        """The answer if it is cached, else None."""
        entry = self._known.get(question)
        return entry.answer if entry is not None and monotonic() < entry.until else None

    async def get(self, question: Question) -> Answer | Failure:
        """The answer, or a Failure with the reason. Cancelled callers do not stop the lookup."""
        since, task = self._open.get(question, (0.0, None))
        if task is None or monotonic() - since >= PATIENCE_SECONDS:
            task = asyncio.ensure_future(self._learn(question))
            self._open[question] = monotonic(), task
            self._tasks.add(task)
            task.add_done_callback(partial(self._done, question))
        return await asyncio.shield(task)

    def _done(self, question: Question, task: "asyncio.Task[Answer | Failure]") -> None:
        self._tasks.discard(task)
        if self._open.get(question, (0.0, None))[1] is task:
            del self._open[question]

    async def _learn(self, question: Question) -> Answer | Failure:
        started = monotonic()
        found = await self.fetch(question)
        entry = self._known.get(question)
        # A late answer must not replace the answer of a newer lookup.
        if entry is None or entry.started <= started:
            self._known.pop(question, None)
            if not isinstance(found, Failure):
                self._known[question] = _Entry(monotonic() + self.seconds, started, found)
        self._forget()
        return found

    def _forget(self) -> None:
        """Drop expired answers, and the oldest ones beyond MOST."""
        now = monotonic()
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest].until > now and len(self._known) <= MOST:
                return
            del self._known[oldest]

    async def close(self) -> None:
        """Cancel all running lookups."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

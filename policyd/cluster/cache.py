"""Answers that are remembered for a moment: most requests of one moment ask the same."""

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
# Who asks what has been open for so long asks again: one answer that does not come must not stall
# everybody who asks the same. Far longer than an API server that is well takes.
PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Answer]):
    """An answer, until when it is remembered and when it was asked for."""

    until: float
    started: float
    answer: Answer


class LookupCache(Generic[Question, Answer]):
    """What ``fetch`` gives, for some seconds; failures never. A question that is open is asked
    again only after PATIENCE_SECONDS.
    """

    def __init__(
        self,
        fetch: Callable[[Question], Awaitable[Answer | Failure]],
        seconds: float = MEMORY_SECONDS,
    ) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._known: dict[Question, _Entry[Answer]] = {}
        self._open: dict[Question, tuple[float, asyncio.Task[Answer | Failure]]] = {}
        self._tasks: set[asyncio.Task[Answer | Failure]] = set()

    def known(self, question: Question) -> Answer | None:
        """The answer if it is remembered."""
        entry = self._known.get(question)
        return entry.answer if entry is not None and monotonic() < entry.until else None

    async def get(self, question: Question) -> Answer | Failure:
        """The answer, or why it cannot be had. Who gives up leaves the others waiting."""
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
        found = await self._fetch(question)
        entry = self._known.get(question)
        # An answer that hung must not take the place of what was learned after it was asked for.
        if entry is None or entry.started <= started:
            self._known.pop(question, None)
            if not isinstance(found, Failure):
                self._known[question] = _Entry(monotonic() + self._seconds, started, found)
        self._forget()
        return found

    def _forget(self) -> None:
        """What is over, and the oldest of what is too much."""
        now = monotonic()
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest].until > now and len(self._known) <= MOST:
                return
            del self._known[oldest]

    async def close(self) -> None:
        """Ask no longer."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

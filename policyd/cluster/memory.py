"""Answers that are remembered for a moment: most requests of one moment ask the same."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

from policyd._core.authorization import Failure

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")

MEMORY_SECONDS = 1.0
MOST = 1000


class Remembered(Generic[Question, Answer]):
    """What ``fetch`` gives, for some seconds; failures never. One question at a time is asked only
    once.
    """

    def __init__(
        self,
        fetch: Callable[[Question], Awaitable[Answer | Failure]],
        seconds: float = MEMORY_SECONDS,
    ) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._known: dict[Question, tuple[float, Answer]] = {}
        self._open: dict[Question, asyncio.Task[Answer | Failure]] = {}

    def known(self, question: Question) -> Answer | None:
        """The answer if it is remembered."""
        entry = self._known.get(question)
        return entry[1] if entry is not None and monotonic() < entry[0] else None

    async def get(self, question: Question) -> Answer | Failure:
        """The answer, or why it cannot be had. Who gives up leaves the others waiting."""
        task = self._open.get(question)
        if task is None:
            task = self._open[question] = asyncio.ensure_future(self._learn(question))
            task.add_done_callback(lambda _: self._open.pop(question, None))
        return await asyncio.shield(task)

    async def _learn(self, question: Question) -> Answer | Failure:
        found = await self._fetch(question)
        self._known.pop(question, None)
        if not isinstance(found, Failure):
            self._known[question] = (monotonic() + self._seconds, found)
        self._forget()
        return found

    def _forget(self) -> None:
        """What is over, and the oldest of what is too much."""
        now = monotonic()
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest][0] > now and len(self._known) <= MOST:
                return
            del self._known[oldest]

    async def close(self) -> None:
        """Ask no longer."""
        for task in list(self._open.values()):
            task.cancel()
        await asyncio.gather(*self._open.values(), return_exceptions=True)

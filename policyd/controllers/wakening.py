"""Waits for the next reason to look again: a change, a time, or the end."""

import asyncio

from policyd.waiting import until_any


class Wakening:
    """One controller's reasons to look again. Used inside of one event loop."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def __call__(self) -> None:
        """Something changed."""
        self._changed.set()

    async def wait(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait for a change, but no longer than this."""
        await until_any(self._changed, stop, seconds=seconds)
        self._changed.clear()


class Changes:
    """Passes a change on to all controllers that it concerns."""

    def __init__(self) -> None:
        self.listeners: list[Wakening] = []

    def __call__(self) -> None:
        """Something changed."""
        for each in self.listeners:
            each()

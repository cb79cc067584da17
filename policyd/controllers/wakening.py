"""Waits for the next reason to look again: a change, a time, or the end."""

import asyncio


class Wakening:
    """One controller's reasons to look again. Used inside of one event loop."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def __call__(self) -> None:
        """Something changed."""
        self._changed.set()

    async def wait(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait for a change, but no longer than this."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(each.wait()) for each in (self._changed, stop)]
        try:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in tasks:
                each.cancel()
        self._changed.clear()

"""What all controllers have in common: a loop, reasons to look again, a problem."""

import asyncio

from policyd.controllers.wakening import Wakening


class Controller:
    """One loop of a server in its cluster. ``name`` is what the log calls it."""

    name: str

    def __init__(self) -> None:
        self.changed = Wakening()

    async def run(self, stop: asyncio.Event) -> None:
        """Look at everything after each change, and when it is time, until ``stop`` is set."""
        while not stop.is_set():
            await self.changed.wait(stop, await self.look())

    async def look(self) -> float:
        """Look at everything once; return the seconds until it is to be looked at again."""
        raise NotImplementedError

    @property
    def problem(self) -> str:
        """Why something is not in step; empty if all is."""
        return ""

    @property
    def unready(self) -> str:
        """Why the server should not be ready; empty if it may be."""
        return ""

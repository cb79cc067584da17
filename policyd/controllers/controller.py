"""What all controllers have in common: a loop, reasons to look again, a problem."""

import asyncio
from abc import ABC, abstractmethod

from policyd.controllers.wakening import Wakening


class Controller(ABC):
    """One loop of a server in its cluster. ``name`` is what the log calls it."""

    name: str

    def __init__(self) -> None:
        self.changed = Wakening()

    @abstractmethod
    async def run(self, stop: asyncio.Event) -> None:
        """Run until ``stop`` is set."""

    @property
    def problem(self) -> str:
        """Why something is not in step; empty if all is."""
        return ""

    @property
    def unready(self) -> str:
        """Why the server should not be ready; empty if it may be."""
        return ""

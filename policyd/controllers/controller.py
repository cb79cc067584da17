"""What all controllers have in common: a loop, reasons to look again, and a problem, which is
logged once when it begins or changes and once when it is over.
"""

import asyncio
from abc import ABC, abstractmethod

from policyd.cluster.objects import ObjectError
from policyd.controllers.waiting import until_any
from policyd.observability.logs import Log


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


FORBIDDEN = 403


class LookingController(Controller):
    """A controller that looks at everything after each change, and when it is time."""

    async def run(self, stop: asyncio.Event) -> None:
        """Look again and again until ``stop`` is set."""
        while not stop.is_set():
            await self.changed.wait(stop, await self.look())

    @abstractmethod
    async def look(self) -> float:
        """Look at everything once; return the seconds until it is to be looked at again."""


class Trouble:
    """The problem of one controller; ``event`` is the one of its log lines."""

    def __init__(self, event: str, log: Log) -> None:
        self._event = event
        self._log = log
        self.problem = ""

    def begin(self, problem: str) -> None:
        """Note a problem."""
        if problem != self.problem:
            self._log.write("error", self._event, problem)
        self.problem = problem

    def end(self, message: str) -> None:
        """Note that there is none any more."""
        if self.problem:
            self._log.write("info", self._event, message)
        self.problem = ""


def reason(error: ObjectError) -> str:
    """Why a request failed; the missing permission if it was refused."""
    if error.status != FORBIDDEN:
        return str(error)
    # The API server: RESOURCE "NAME" is forbidden: User "NAME" cannot VERB resource …
    refused = str(error.body.get("message") or error).partition("is forbidden: ")[2]
    return f"a permission is missing: {refused or error}"

"""The common parts of all controllers: a loop that changes wake up, and a problem, which is logged
once when it begins or changes and once when it ends.
"""

import asyncio
from abc import ABC, abstractmethod

from policyd.cluster.objects import ObjectError
from policyd.controllers.waiting import until_any
from policyd.observability.logs import Log


class Wakening:
    """Wakes one controller after changes. Used inside one event loop."""

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
    """Passes a change on to all affected controllers."""

    def __init__(self) -> None:
        self.listeners: list[Wakening] = []

    def __call__(self) -> None:
        """Something changed."""
        for each in self.listeners:
            each()


class Controller(ABC):
    """One loop of a server in its cluster. ``name`` is its name in the log."""

    name: str

    def __init__(self) -> None:
        self.changed = Wakening()

    @abstractmethod
    async def run(self, stop: asyncio.Event) -> None:
        """Run until ``stop`` is set."""

    @property
    def problem(self) -> str:
        """Why something is not in step; empty if everything is."""
        return ""

    @property
    def unready(self) -> str:
        """Why the server should not be ready; empty if it should."""
        return ""


FORBIDDEN = 403


class LookingController(Controller):
    """A controller that checks everything after each change and at intervals."""

    async def run(self, stop: asyncio.Event) -> None:
        """Check again and again until ``stop`` is set."""
        while not stop.is_set():
            await self.changed.wait(stop, await self.look())

    @abstractmethod
    async def look(self) -> float:
        """Check everything once; return the seconds until the next check."""


class Trouble:
    """The problem of one controller; ``event`` is the event of its log lines."""

    def __init__(self, event: str, log: Log) -> None:
        self._event = event
        self._log = log
        self.problem = ""

    def begin(self, problem: str) -> None:
        """Record a problem."""
        if problem != self.problem:
            self._log.write("error", self._event, problem)
        self.problem = problem

    def end(self, message: str) -> None:
        """Record that the problem is over."""
        if self.problem:
            self._log.write("info", self._event, message)
        self.problem = ""


def reason(error: ObjectError) -> str:
    """Why a request failed; if it was forbidden, the missing permission."""
    if error.status != FORBIDDEN:
        return str(error)
    # The API server: RESOURCE "NAME" is forbidden: User "NAME" cannot VERB resource …
    refused = str(error.body.get("message") or error).partition("is forbidden: ")[2]
    return f"a permission is missing: {refused or error}"

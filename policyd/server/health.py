"""The health of the watches of files and cluster: when each last succeeded, and its restart after a
failure.

A failing or hanging watch does not change responses, but the server no longer notices changes. The
log and a metric report it at once; after a grace period the server is no longer ready. The grace
period is long for two reasons: reloading very many policies can block the watch for minutes on a
slow processor, and a fault (a node without memory, a hanging file system) may hit all replicas at
once. Stale policies are better than none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from policyd.controllers.waiting import until_any
from policyd.observability.logs import Log
from policyd.observability.throttle import Throttle

# A watch checks every 5 s, or every minute for a very large tree; no check for this long is a
# failure.
SILENCE_SECONDS = 90.0
# How soon a failed watch restarts; doubled each time, up to a minute.
RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 60.0
# The shortest time between two log lines about the same problem.
LOG_SECONDS = 60.0


class WatchHealth:
    """The health of one watch, which calls ``succeeded`` after each complete check."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self.name = name
        self._clock = clock
        self._looked_at = clock()
        self._problem = ""

    def succeeded(self) -> None:
        """Record that a check succeeded."""
        self._looked_at = self._clock()
        self._problem = ""

    def failed(self, problem: str) -> None:
        """Record that a check failed; the watch keeps trying."""
        self._problem = problem

    @property
    def silence(self) -> float:
        """Seconds since the last successful check."""
        return self._clock() - self._looked_at

    @property
    def healthy(self) -> bool:
        """Whether changes are noticed."""
        return not self._problem and self.silence < SILENCE_SECONDS

    @property
    def problem(self) -> str:
        """Why the watch is unhealthy. A hanging watch reports no problem itself."""
        return self._problem or "the check for changes hangs"


@dataclass(eq=False, repr=False)
class WatchSupervisor:
    """All watches of a server. It restarts those that fail, and logs why they failed."""

    grace: float
    log: Log
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._watches: list[WatchHealth] = []
        self._failures = Throttle(LOG_SECONDS)

    def add(self, name: str) -> WatchHealth:
        """Add a watch, which is healthy at first."""
        watch = WatchHealth(name, self.clock)
        self._watches.append(watch)
        return watch

    def health(self) -> dict[str, bool]:
        """Return for each watch whether it is healthy."""
        return {watch.name: watch.healthy for watch in self._watches}

    def stale(self) -> Sequence[str]:
        """Describe the watches that have not succeeded for longer than the grace period."""
        return [
            f"no check of the {watch.name} for changes has succeeded for {watch.silence:.0f} s:"
            f" {watch.problem}"
            for watch in self._watches
            if watch.silence > max(self.grace, SILENCE_SECONDS)
        ]

    async def keep(
        self, watch: WatchHealth, work: Callable[[], Awaitable[None]], stop: asyncio.Event
    ) -> None:
        """Run a watch until ``stop`` is set, and restart it when it fails."""
        pause = RESTART_SECONDS
        while not stop.is_set():
            began = self.clock()
            try:
                await work()
            except Exception as error:
                # Any exception, including defects of policyd: without the watch the server would
                # never notice another change.
                problem = f"{type(error).__name__}: {error}"
                watch.failed(problem)
                count = self._failures.count(watch.name + problem)
                if count:
                    message = f"cannot watch the {watch.name} for changes: {problem}"
                    self.log.write("error", "watch", message, watch=watch.name, count=count)
            if self.clock() - began > LONGEST_RESTART_SECONDS:
                pause = RESTART_SECONDS
            await until_any(stop, seconds=pause)
            pause = min(2 * pause, LONGEST_RESTART_SECONDS)

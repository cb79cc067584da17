"""The health of watches: who looks at what, when it last could, and how a failed one goes on.

Watches nothing itself. A watch that fails or hangs leaves the server as it is and deaf to changes,
which nobody notices by its answers: it is in the log and in a metric at once, and after a grace the
server is no longer ready. The grace is long because a reload of very many policies holds up its
watch for minutes where the processor is scarce, and because such a fault (a node without memory, a
file system that hangs) may strike all replicas at a time: stale policies are better than none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import monotonic

# A watch looks every 5 s, at a huge tree every minute; longer silence is a fault.
SILENCE_SECONDS = 90.0
# How soon a watch that ended with an error begins again; doubled each time up to a minute.
RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 60.0


class WatchHealth:
    """One watch. ``looked`` is called whenever it has seen everything that it looks at."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self.name = name
        self._clock = clock
        self._looked_at = clock()
        self._problem = ""

    def succeeded(self) -> None:
        """All is well."""
        self._looked_at = self._clock()
        self._problem = ""

    def failed(self, problem: str) -> None:
        """It could not look; it goes on trying."""
        self._problem = problem

    @property
    def silence(self) -> float:
        """Seconds since it last could look."""
        return self._clock() - self._looked_at

    @property
    def healthy(self) -> bool:
        """Whether changes are noticed."""
        return not self._problem and self.silence < SILENCE_SECONDS

    @property
    def problem(self) -> str:
        """What is wrong, in words; a watch that hangs says nothing itself."""
        return self._problem or "the check for changes hangs"


class WatchSupervisor:
    """All watches of a server. ``told`` hears of each failure: name and error."""

    def __init__(
        self,
        grace: float,
        told: Callable[[str, str], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._grace = grace
        self._told = told
        self._clock = clock
        self._watches: list[WatchHealth] = []

    def add(self, name: str) -> WatchHealth:
        """A new watch, healthy for now."""
        watch = WatchHealth(name, self._clock)
        self._watches.append(watch)
        return watch

    def health(self) -> dict[str, bool]:
        """Each watch by name, and whether it works."""
        return {watch.name: watch.healthy for watch in self._watches}

    def stale(self) -> Sequence[str]:
        """Which watches did not work for longer than the grace, in words."""
        return [
            f"changes of the {watch.name} have not been noticed for {watch.silence:.0f} s:"
            f" {watch.problem}"
            for watch in self._watches
            if watch.silence > max(self._grace, SILENCE_SECONDS)
        ]

    async def keep(
        self, watch: WatchHealth, work: Callable[[], Awaitable[None]], stop: asyncio.Event
    ) -> None:
        """Do the work of a watch until ``stop`` is set, again and again if it fails."""
        pause = RESTART_SECONDS
        while not stop.is_set():
            began = self._clock()
            try:
                await work()
            except Exception as error:
                # Whatever went wrong, a defect of ours included: without a watch the server would
                # be deaf for good.
                problem = f"{type(error).__name__}: {error}"
                watch.failed(problem)
                self._told(watch.name, problem)
            if self._clock() - began > LONGEST_RESTART_SECONDS:
                pause = RESTART_SECONDS
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
            pause = min(2 * pause, LONGEST_RESTART_SECONDS)

"""Limits how often log lines of one kind are written."""

from collections.abc import Callable, Hashable
from time import monotonic


class Throttle:
    """Decides whether to log an event: each kind once in a period. Keeps every kind in memory."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._logged: dict[
            str, tuple[float, int]
        ] = {}  # when it was last logged, and how often it happened since

    def count(self, kind: str) -> int:
        """The number of events since the last logged one, including this one; 0: do not log it."""
        now = self._clock()
        logged_at, since = self._logged.get(kind, (float("-inf"), 0))
        if now - logged_at < self._seconds:
            self._logged[kind] = (logged_at, since + 1)
            return 0
        self._logged[kind] = (now, 0)
        return since + 1


class LineLimit:
    """The same for kinds that clients choose: at most ``most`` lines of each group in a period,
    each of another kind, so that one group cannot displace another. There are few groups; kinds are
    forgotten after the period.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._began = float("-inf")
        self._logged: dict[Hashable, set[Hashable]] = {}
        self._suppressed = 0

    def take(self, group: Hashable, kind: Hashable) -> int | None:
        """The number of unlogged events of all groups since the last logged one; None: do not log
        this one.
        """
        now = self._clock()
        if now - self._began >= self._seconds:
            self._began = now
            self._logged.clear()
        logged = self._logged.setdefault(group, set())
        if kind in logged or len(logged) >= self._most:
            self._suppressed += 1
            return None
        logged.add(kind)
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed

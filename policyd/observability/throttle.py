"""Limits how often log lines of one kind are written: at most once in a period."""

from collections.abc import Callable
from time import monotonic


class Throttle:
    """Decides whether something is logged now; remembers every kind of event."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._logged: dict[
            str, tuple[float, int]
        ] = {}  # when it was last logged, and how often it happened since

    def count(self, kind: str) -> int:
        """How often it happened since it was last logged, including now; 0: do not log it."""
        now = self._clock()
        logged_at, since = self._logged.get(kind, (float("-inf"), 0))
        if now - logged_at < self._seconds:
            self._logged[kind] = (logged_at, since + 1)
            return 0
        self._logged[kind] = (now, 0)
        return since + 1

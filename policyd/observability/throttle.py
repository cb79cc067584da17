"""Lines of the log that must not become a flood: at most one of a kind in a period."""

from collections.abc import Callable
from time import monotonic


class Throttle:
    """Decides whether something is said now. Knows as many kinds as it is asked about."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}  # when it was last said, unsaid since

    def count(self, kind: str) -> int:
        """How often it happened since it was last said, this time included; 0: say nothing now."""
        now = self._clock()
        said, since = self._kinds.get(kind, (float("-inf"), 0))
        if now - said < self._seconds:
            self._kinds[kind] = (said, since + 1)
            return 0
        self._kinds[kind] = (now, 0)
        return since + 1

"""The denials to write as Events, in memory: aggregated, rate-limited and bounded.

Requests add denials, at the cost of a few dictionary operations. Writes nothing; ``EventQuota``
limits how much may be written.
"""

import secrets
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from time import monotonic, time

from policyd.controllers.events.denials import ReportedDenial
from policyd.token_bucket import TokenBucket

# An Event is written again, with its new count, at most this often.
REPEAT_SECONDS = 10.0
# Equal denials after such a pause become another Event.
QUIET_SECONDS = 600.0
# Series in memory, in total and of one namespace.
MOST_EVENTS = 1000
MOST_IN_NAMESPACE = 50


class EventSeries:
    """Equal denials, which share one Event. ``count`` is their number, ``written`` the number that
    the Event in the API server has; times are of ``time`` and, for ``due``, of ``monotonic``.
    """

    __slots__ = ("attempts", "count", "denial", "due", "first", "heard", "last", "name", "written")

    def __init__(self, denial: ReportedDenial, wall: float, now: float) -> None:
        self.denial = denial
        self.name = f"policyd.{secrets.token_hex(8)}"
        self.count = self.written = self.attempts = 0
        self.first = self.last = wall
        self.heard = self.due = now

    @property
    def pending(self) -> int:
        """Return how many denials are not written yet."""
        return self.count - self.written


@dataclass(eq=False, repr=False)
class EventTable:
    """All series, those with the latest denials last. Each namespace may use a part of the room, so
    that many different denials in one displace none of others.
    """

    most: int = MOST_EVENTS
    most_in_namespace: int = MOST_IN_NAMESPACE
    _: KW_ONLY
    clock: Callable[[], float] = monotonic
    wall: Callable[[], float] = time

    def __post_init__(self) -> None:
        self._series: dict[ReportedDenial, EventSeries] = {}
        self._namespaces: dict[str, dict[ReportedDenial, EventSeries]] = {}

    def __len__(self) -> int:
        return len(self._series)

    @property
    def pending(self) -> int:
        """Return how many denials are not written yet."""
        return sum(each.pending for each in self._series.values())

    def add(self, denial: ReportedDenial) -> EventSeries | None:
        """Add a denial to its series; None if there is no room for another series."""
        series = self._series.pop(denial, None)
        beside = self._namespaces.get(denial.namespace, {})
        if series is not None:
            del beside[denial]
        elif self._makes_room(beside):
            series = EventSeries(denial, self.wall(), self.clock())
        else:
            return None
        self._series[denial] = beside[denial] = series
        self._namespaces[denial.namespace] = beside
        series.count += 1
        series.heard, series.last = self.clock(), self.wall()
        return series

    def waiting(self) -> list[EventSeries]:
        """Return the series with unwritten denials, the longest waiting first."""
        pending = (each for each in self._series.values() if each.pending)
        return sorted(pending, key=lambda each: each.due)

    def due(self) -> list[EventSeries]:
        """Return the series that may be written now."""
        now = self.clock()
        return [each for each in self.waiting() if each.due <= now]

    def wrote(self, series: EventSeries, count: int) -> int:
        """Record that the Event of a series has this count; return how many denials that adds."""
        added = count - series.written
        series.written, series.attempts = count, 0
        series.due = self.clock() + REPEAT_SECONDS
        return added

    def remove(self, series: EventSeries) -> int:
        """Forget a series; return how many of its denials were not written."""
        del self._series[series.denial]
        beside = self._namespaces[series.denial.namespace]
        del beside[series.denial]
        if not beside:
            del self._namespaces[series.denial.namespace]
        return series.pending

    def forget_quiet(self) -> None:
        """Forget written series that were not repeated for long."""
        before = self.clock() - QUIET_SECONDS
        for each in [*self._series.values()]:
            if each.heard > before:
                break  # the others are more recent
            if not each.pending:
                self.remove(each)

    def _makes_room(self, beside: dict[ReportedDenial, EventSeries]) -> bool:
        """Whether there is room for one more, after forgetting the oldest if necessary, but not if
        it is unwritten. Examines only one, because a request waits for this.
        """
        for series, most in ((beside, self.most_in_namespace), (self._series, self.most)):
            if len(series) >= most:
                oldest = next(iter(series.values()))
                if oldest.pending:
                    return False
                self.remove(oldest)
        return True


# Events that a namespace may have at once, and seconds until one more.
NAMESPACE_BURST, NAMESPACE_SECONDS = 20, 3.0
# All namespaces together.
BURST, SECONDS = 100, 0.2


class EventQuota:
    """Decides whether an Event of a namespace may be written now."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._all = TokenBucket(BURST, SECONDS, clock)
        # Only buckets that are not full: of namespaces that had an Event within a minute.
        self._namespaces: dict[str, TokenBucket] = {}

    def take(self, namespace: str) -> bool:
        """Take one write from the quota of this namespace and of all, if both have one."""
        bucket = self._namespaces.get(namespace)
        if bucket is None:
            bucket = TokenBucket(NAMESPACE_BURST, NAMESPACE_SECONDS, self._clock)
        if self._all.tokens < 1 or not bucket.take():
            return False
        self._namespaces[namespace] = bucket
        return self._all.take()

    def tidy(self) -> None:
        """Forget the buckets that are full again."""
        self._namespaces = {
            name: bucket for name, bucket in self._namespaces.items() if not bucket.full
        }

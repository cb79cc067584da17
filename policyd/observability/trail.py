"""The recent denials: what policies denied, or would have denied, in the order in which it
happened. A bounded number of them, in memory; no objects, and nothing that refers to a request.
"""

from collections import deque
from collections.abc import Callable
from time import time
from typing import NamedTuple

from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.http.denials import MOST, RecentDenials
from policyd.observability.about import Value, fields_of, message_of_event, timestamp
from policyd.texts import MAX_STATUS_CHARS, bounded

# Characters of what clients choose: names have 253, those of users may be longer.
_MOST_CHARS = 512


class _Noted(NamedTuple):
    sequence: int
    at: float
    fields: dict[str, Value]


class Trail:
    """The last denials of this process. ``always`` are fields of every one."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self.always: dict[str, Value] = {}
        self._clock = clock
        self._noted: deque[_Noted] = deque(maxlen=MOST)
        # Microseconds since 1970, but never the same twice, even if the clock is set back.
        self._sequence = 0
        # The last denial that is not here: it was dropped, or was before the start.
        self._before = self._next(clock())

    def note(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Keep the event if a policy denied the request, or would have."""
        denied = event.what == "denial" or (event.what == "error" and event.effect == "denied")
        if not denied and event.what != "would_deny":
            return
        if len(self._noted) == MOST:
            self._before = self._noted[0].sequence
        fields: dict[str, Value] = {
            key: bounded(value, _MOST_CHARS) if isinstance(value, str) else value
            for key, value in fields_of(request, event).items()
            if value
        }
        fields["message"] = bounded(message_of_event(request, event), MAX_STATUS_CHARS)
        now = self._clock()
        self._noted.append(_Noted(self._next(now), now, {"event": event.what, **fields}))

    def recent(self) -> RecentDenials:
        """Return what is kept, the oldest first."""
        rows = [
            {"sequence": sequence, "time": timestamp(at), **fields, **self.always}
            for sequence, at, fields in self._noted
        ]
        return RecentDenials(rows, self._next(self._clock()), self._before)

    def _next(self, now: float) -> int:
        self._sequence = max(self._sequence + 1, int(now * 1e6))
        return self._sequence

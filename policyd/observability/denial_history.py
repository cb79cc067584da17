"""The recent denials: requests that policies denied, or would have denied, in order. Keeps a
bounded number in memory, without objects or references to requests.
"""

from collections import deque
from collections.abc import Callable
from time import time
from typing import NamedTuple

from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.bounded_text import MAX_STATUS_CHARS, bounded
from policyd.http.denials import MOST, RecentDenials
from policyd.observability.about import (
    Named,
    Value,
    fields_of,
    message_of_event,
    named,
    timestamp,
)

# Characters of each string that clients choose: names have 253, names of users may be longer.
_MOST_CHARS = 512


class _Noted(NamedTuple):
    sequence: int
    at: float
    request: Named
    event: PolicyEvent
    message: str


class DenialHistory:
    """The last denials of this process. ``always`` are fields of every denial."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self.always: dict[str, Value] = {}
        self._clock = clock
        self._noted: deque[_Noted] = deque(maxlen=MOST)
        # Microseconds since 1970, but never the same twice, even if the clock is set back.
        self._sequence = 0
        # The last missing denial: it was dropped, or was before the start.
        self._before = self._next(clock())

    def note(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Keep the event if a policy denied the request, or would have. Runs on the request path,
        so the output is built only when it is read.
        """
        what = event.what
        if what == "error":
            if event.effect != "denied":
                return
        elif what not in ("denial", "would_deny"):
            return
        noted = self._noted
        if len(noted) == MOST:
            self._before = noted[0].sequence
        message = message_of_event(request, event)
        now = self._clock()
        noted.append(
            _Noted(
                self._next(now),
                now,
                _cut(named(request)),
                event if len(event.message) <= MAX_STATUS_CHARS else event._replace(message=""),
                bounded(message, MAX_STATUS_CHARS),
            )
        )

    def recent(self) -> RecentDenials:
        """Return the kept denials, the oldest first."""
        rows = []
        for sequence, at, request, event, message in self._noted:
            fields = fields_of(request, event)
            shown = {key: value for key, value in fields.items() if value}
            head = {"sequence": sequence, "time": timestamp(at), "event": event.what}
            rows.append({**head, **shown, **self.always, "message": message})
        return RecentDenials(rows, self._next(self._clock()), self._before)

    def _next(self, now: float) -> int:
        self._sequence = max(self._sequence + 1, int(now * 1e6))
        return self._sequence


def _cut(request: Named) -> Named:
    """Return the names with limited length."""
    size = len(request.uid) + len(request.namespace) + len(request.name) + len(request.user)
    size += len(request.owner) + len(request.generate_name) + len(request.sub_resource)
    group, version, resource = request.resource
    if size + len(group) + len(version) + len(resource) <= _MOST_CHARS:
        return request
    cut = Named._make(_short(each) if isinstance(each, str) else each for each in request)
    return cut._replace(resource=(_short(group), _short(version), _short(resource)))


def _short(string: str) -> str:
    return bounded(string, _MOST_CHARS)

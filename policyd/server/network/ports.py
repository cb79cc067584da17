"""The connections of both ports, and the log lines about clients that were refused or cut off: at
most one a minute for each reason, whoever the clients are.
"""

from collections.abc import Mapping

from policyd.config import Settings
from policyd.http.limits import InFlight
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.observability.throttle import Throttle
from policyd.server.network.connections import (
    CloseReason,
    ConnectionEvents,
    PortConnections,
    Timeouts,
)
from policyd.server.network.descriptors import fitting
from policyd.tls.handshakes import Refusal

AGAIN_SECONDS = 60.0
# What cost a client its request, and is not the end of an answered one.
_CUT_OFF: Mapping[CloseReason, str] = {
    "full": "a new connection was closed: there was no place for it (--max-connections)",
    "head": "a connection was closed: the head of a request took too long",
    "write": "a connection was closed: the client did not take its answer in time",
    "flood": "a connection was closed: the client sent a body in tiny pieces",
}


class RefusalLog:
    """Counts and logs refused clients."""

    def __init__(self, recorder: PrometheusRecorder, log: Log) -> None:
        self._recorder = recorder
        self._log = log
        self._throttle = Throttle(AGAIN_SECONDS)

    def __call__(self, reason: Refusal, message: str = "") -> None:
        """Record one client. Clients without TLS, or with an old version, are only counted:
        scanners.
        """
        self._recorder.refused(reason)
        if reason == "protocol":
            return
        count = self._throttle.count(reason)
        if count:
            line = f"refused a client: {message or reason}"
            self._log.write("warning", "refused", line, reason=reason, count=count)


class ReviewPortEvents(ConnectionEvents):
    """Counts malformed requests; logs connections that the server closed although a request may
    have been under way.
    """

    def __init__(self, recorder: PrometheusRecorder, log: Log) -> None:
        self._recorder = recorder
        self._log = log
        self._throttle = Throttle(AGAIN_SECONDS)

    def malformed(self, status: int, peer: str) -> None:
        """Record a request that the app never sees."""
        self._recorder.rejected(status, peer, "", "expected a request of HTTP/1.1")

    def closed(self, reason: CloseReason, peer: str) -> None:
        """Record a connection that was closed."""
        message = _CUT_OFF.get(reason)
        count = self._throttle.count(reason) if message else 0
        if message and count:
            self._log.write("warning", "closed", message, reason=reason, peer=peer, count=count)


def connections_of(
    settings: Settings, in_flight: InFlight, events: ConnectionEvents, log: Log
) -> tuple[PortConnections, PortConnections]:
    """Return the connections of the review port and those of the admin port."""
    timeouts = Timeouts.of(settings)
    most, admin = fitting(settings.max_connections, log)
    reviews = PortConnections(most, timeouts, in_flight.end_incomplete, events)
    return reviews, PortConnections(admin, timeouts)

"""The connections of both ports, and the log lines about clients that were refused or cut off: at
most one a minute for each reason, for all clients together.

At the process's limit of open files (RLIMIT_NOFILE) policyd could accept nothing, not even a probe,
until a client leaves. So the limits of connections stay below it; there idle connections make room
for new ones.
"""

import resource
from collections.abc import Mapping

from policyd.config import Settings
from policyd.http.limits import InFlight
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.observability.throttle import Throttle
from policyd.server.network.connections import CloseReason, PortConnections
from policyd.tls.handshakes import Refusal

AGAIN_SECONDS = 60.0
# Closures that cost a client its request.
_CUT_OFF: Mapping[CloseReason, str] = {
    "full": "a new connection was closed: all connections are in use (--max-connections)",
    "head": "a connection was closed: the headers of a request arrived too slowly",
    "write": "a connection was closed: the client did not read its response in time",
    "flood": "a connection was closed: the client sent a body in tiny pieces",
}


class ClientLog:
    """Counts clients of the review port that were refused or cut off, and logs them."""

    def __init__(self, recorder: PrometheusRecorder, log: Log) -> None:
        self._recorder = recorder
        self._log = log
        self._throttle = Throttle(AGAIN_SECONDS)

    def refused(self, reason: Refusal, message: str = "") -> None:
        """Record a failed handshake. Clients without TLS, or with an old version, are probably
        scanners: they are only counted.
        """
        self._recorder.refused(reason)
        if reason == "protocol":
            return
        count = self._throttle.count(reason)
        if count:
            line = f"refused a client: {message or reason}"
            self._log.write("warning", "refused", line, reason=reason, count=count)

    def malformed(self, status: int, peer: str) -> None:
        """Record a request that the app does not see."""
        self._recorder.rejected(status, peer, "", "expected a request of HTTP/1.1")

    def closed(self, reason: CloseReason, peer: str) -> None:
        """Log a closed connection if the server closed it although a request may have been under
        way.
        """
        message = _CUT_OFF.get(reason)
        count = self._throttle.count(reason) if message else 0
        if message and count:
            self._log.write("warning", "closed", message, reason=reason, peer=peer, count=count)


def connections_of(
    settings: Settings, in_flight: InFlight, clients: ClientLog, log: Log
) -> tuple[PortConnections, PortConnections]:
    """Return the connections of the review port and of the admin port."""
    most, admin = fitting(settings.max_connections, log)
    reviews = PortConnections(
        most,
        settings,
        in_flight.end_incomplete,
        malformed=clients.malformed,
        on_close=clients.closed,
    )
    return reviews, PortConnections(admin, settings)


# Files that policyd itself needs: sockets, inotify, the log, policies and certificates being read,
# connections to an API server.
OWN = 24
# Connections to the admin port: probes, a few scrapers, and people.
ADMIN = 64
# ``PortConnections`` allows so many connections for each 8, because closing one may take time.
NINTHS = 9


def fitting(connections: int, log: Log) -> tuple[int, int]:
    """Return how many connections the review port and the admin port may have, at most
    ``connections`` and ADMIN. Raise the soft limit as far as necessary and possible.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = OWN + _with_closing(connections) + _with_closing(ADMIN)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections, ADMIN
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    admin = min(ADMIN, soft // 8)
    left = soft - OWN - _with_closing(admin)
    most = max(1, min(connections, left * (NINTHS - 1) // NINTHS))
    if most < connections:
        message = (
            f"no more than {most} connections, instead of the {connections} of --max-connections:"
            f" the process may open {soft} files"
        )
        log.write("warning", "limit", message)
    return most, admin


def _with_closing(connections: int) -> int:
    return connections + max(1, connections // (NINTHS - 1))

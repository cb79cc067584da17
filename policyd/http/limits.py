"""Limits on the requests under way and on their bytes, in total and for each client address.

Everything runs on one event loop, so plain integers are exact without a lock.

A request reserves memory for the bytes that have arrived, not for the announced ones. A reservation
is preliminary while the body is incomplete: when memory runs short, policyd ends the oldest
incomplete request of the address with the most of them, and the new request takes its place. So
stalled sockets take nothing from others, even if all clients share one address (an API server
behind konnectivity). Complete requests are never ended; one address may use SHARE of the memory for
them.
"""

import asyncio
from typing import Any, Literal

# The part of any limit that one address may use. The rest stays free for others, above all for the
# API server while another client floods the port. An API server that is the only client loses the
# rest, and notices only at the limit.
SHARE = 0.75


def share(whole: int) -> int:
    """The share of ``whole`` for one address; at least one."""
    return max(1, int(whole * SHARE))


class Peer:
    """One client address and its requests under way."""

    __slots__ = ("address", "bytes", "incomplete", "requests")

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests = 0
        self.bytes = 0
        # In the order of arrival: the first is the oldest.
        self.incomplete: dict[Reservation, None] = {}


class InFlight:
    """Counts the requests under way and makes room for new ones if it can."""

    __slots__ = (
        "_incomplete",
        "bytes",
        "ended",
        "max_bytes",
        "max_peer_bytes",
        "max_peer_requests",
        "max_requests",
        "requests",
        "unknown_peer",
    )

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self.max_requests = max_requests
        self.max_bytes = max_bytes
        # The limits of one address.
        self.max_peer_requests = share(max_requests)
        self.max_peer_bytes = share(max_bytes)
        self.requests = 0
        self.bytes = 0
        # Requests that lost their memory to others so far.
        self.ended = 0
        # For requests without a known address, if another server runs the app.
        self.unknown_peer = Peer("")
        # Addresses that have incomplete requests.
        self._incomplete: dict[Peer, None] = {}

    def enter(self, peer: Peer) -> "Reservation | Literal['requests']":
        """Return a reservation for a request whose body has not arrived, unless there are too many
        requests.
        """
        if peer.requests >= self.max_peer_requests:
            if not self.end_incomplete(peer):
                return "requests"
        elif self.requests >= self.max_requests and not self.end_incomplete():
            return "requests"
        self.requests += 1
        peer.requests += 1
        return Reservation(self, peer)

    def has_room(self, peer: Peer, size: int) -> bool:
        """Whether a request of ``size`` bytes fits without ending others."""
        return (
            self.requests < self.max_requests
            and peer.requests < self.max_peer_requests
            and self.bytes + size <= self.max_bytes
            and peer.bytes + size <= self.max_peer_bytes
        )

    def end_incomplete(self, of: Peer | None = None) -> bool:
        """End the oldest incomplete request of the address with the most of them, or of the address
        ``of``; False if there is none.
        """
        if of is None:
            of = max(self._incomplete, key=lambda peer: len(peer.incomplete), default=None)
        if of is None or not of.incomplete:
            return False
        next(iter(of.incomplete)).end()
        return True

    def fits(self, room: "Reservation", more: int) -> bool:
        """Whether ``more`` bytes fit, after ending incomplete requests if necessary."""
        peer = room.peer
        # A single request may exceed the limit: the maximum size of a body limits it.
        while peer.bytes + more > self.max_peer_bytes and peer.bytes > room.size:
            if not _end_largest(peer, room):
                return False
        while self.bytes + more > self.max_bytes and self.bytes > room.size:
            most = max(self._incomplete, key=_bytes, default=None)
            if most is None or not _end_largest(most, room):
                return False
        return True

    def begins(self, room: "Reservation") -> None:
        """The body of a request is not complete yet."""
        self._incomplete[room.peer] = None
        room.peer.incomplete[room] = None

    def completes(self, room: "Reservation") -> None:
        """The body is complete, or the request has ended."""
        incomplete = room.peer.incomplete
        if room in incomplete:
            del incomplete[room]
            if not incomplete:
                del self._incomplete[room.peer]


class Reservation:
    """The memory that one request uses until it ends."""

    __slots__ = ("_in_flight", "_task", "ended", "peer", "size")

    def __init__(self, in_flight: InFlight, peer: Peer) -> None:
        self._in_flight = in_flight
        self._task: asyncio.Task[Any] | None = None
        self.peer = peer
        self.size = 0
        # Whether another request took its memory; its task is then cancelled.
        self.ended = False

    def wait(self, task: "asyncio.Task[Any]") -> None:
        """``task`` waits for the body; it is cancelled when other requests need the memory."""
        self._task = task
        self._in_flight.begins(self)

    def complete(self) -> None:
        """The body is complete: the memory stays reserved until the request ends."""
        self._in_flight.completes(self)
        self._task = None

    def hold(self, size: int) -> bool:
        """Reserve ``size`` bytes in total, more or less than before; False if there is not enough
        memory.
        """
        more = size - self.size
        if more > 0 and not self._in_flight.fits(self, more):
            return False
        self.keep(size)
        return True

    def keep(self, size: int) -> None:
        """Count ``size`` bytes in total, even beyond the limit: they are already in memory."""
        self._in_flight.bytes += size - self.size
        self.peer.bytes += size - self.size
        self.size = size

    def end(self) -> None:
        """Release the memory for another request, and cancel the task that waits for the body."""
        self.ended = True
        self._in_flight.ended += 1
        self._in_flight.completes(self)
        self.keep(0)
        if self._task is not None:
            self._task.cancel()

    def leave(self) -> None:
        """Release the memory and count the request as ended."""
        self._in_flight.completes(self)
        self.keep(0)
        self._in_flight.requests -= 1
        self.peer.requests -= 1


def _bytes(peer: Peer) -> int:
    return sum(room.size for room in peer.incomplete)


def _end_largest(peer: Peer, requester: Reservation) -> bool:
    """End the incomplete request with the most bytes, but not ``requester``; False without one."""
    others = [room for room in peer.incomplete if room is not requester and room.size]
    if not others:
        return False
    max(others, key=lambda room: room.size).end()
    return True

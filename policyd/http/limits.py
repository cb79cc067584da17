"""Bounded work: how many requests, and how many bytes of them, are under way at a time, and whose.

Everything runs on one event loop, so plain integers are exact without a lock.

A request takes room by the bytes that arrived, not by those it announced. While its body is
incomplete it holds room on sufferance: when room runs short, the oldest incomplete request of the
address that has the most of them is ended, and a newcomer gets its room. So sockets that stall
take nothing from others, also where all clients share one address (an API server behind
konnectivity). Complete requests are never ended; one address may fill SHARE of the room with them.
"""

import asyncio
from typing import Any, Literal

# The part of any room that one address may take. The rest is left for others, above all for the
# API server while somebody else floods the port. An API server that is the only client has so much
# less room, which it notices only when it uses all of that.
SHARE = 0.75


def share(whole: int) -> int:
    """What one address may take of ``whole``; at least one."""
    return max(1, int(whole * SHARE))


class Peer:
    """One address, and what it holds."""

    __slots__ = (
        "address",
        "bytes",
        "connections",
        "idle",
        "incomplete",
        "requests",
        "unknown_peer",
    )

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests = 0
        self.bytes = 0
        # In order of arrival: the first is the oldest.
        self.incomplete: dict[Reservation, None] = {}
        # Its open connections, and those of them on which no request is under way; the first is
        # idle for the longest time. Kept by ``server/connections.py``.
        self.connections = 0
        self.idle: dict[Any, None] = {}

    def add_connection(self, connection: Any) -> None:
        """Count a new connection, which is idle."""
        self.connections += 1
        self.idle[connection] = None

    def remove_connection(self, connection: Any) -> None:
        """Forget a closed connection."""
        self.connections -= 1
        self.idle.pop(connection, None)

    def mark_idle(self, connection: Any) -> None:
        """Note that no request is under way on the connection."""
        self.idle[connection] = None

    def mark_busy(self, connection: Any) -> None:
        """Note that a request is under way on the connection, or that it is closing."""
        self.idle.pop(connection, None)


class InFlight:
    """Counts what is under way and makes room for more, or says that there is none."""

    __slots__ = (
        "_incomplete",
        "bytes",
        "ended",
        "max_bytes",
        "max_requests",
        "requests",
        "unknown_peer",
    )

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self.max_requests = max_requests
        self.max_bytes = max_bytes
        self.requests = 0
        self.bytes = 0
        # Requests that lost their room to others, so far.
        self.ended = 0
        # Requests that come with no address known: another server than ours runs the app.
        self.unknown_peer = Peer("")
        # Who has incomplete requests now.
        self._incomplete: dict[Peer, None] = {}

    def enter(self, peer: Peer) -> "Reservation | Literal['requests']":
        """Room for a request of which no body has arrived, unless there are too many."""
        if peer.requests >= share(self.max_requests):
            if not self.end_incomplete(peer):
                return "requests"
        elif self.requests >= self.max_requests and not self.end_incomplete():
            return "requests"
        self.requests += 1
        peer.requests += 1
        return Reservation(self, peer)

    def end_incomplete(self, of: Peer | None = None) -> bool:
        """End the oldest incomplete request of the address that has most; False if there is none.

        ``of`` looks at one address only.
        """
        if of is None:
            of = max(self._incomplete, key=lambda peer: len(peer.incomplete), default=None)
        if of is None or not of.incomplete:
            return False
        next(iter(of.incomplete)).end()
        return True

    def fits(self, room: "Reservation", more: int) -> bool:
        """Whether ``more`` bytes fit, after ending incomplete requests if it takes that."""
        peer = room.peer
        # A request that is alone may be larger than the room: the size of bodies is its bound.
        while peer.bytes + more > share(self.max_bytes) and peer.bytes > room.size:
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
        """The body is complete, or it does not matter any more."""
        incomplete = room.peer.incomplete
        if room in incomplete:
            del incomplete[room]
            if not incomplete:
                del self._incomplete[room.peer]


class Reservation:
    """What one request takes of the whole until it leaves."""

    __slots__ = ("_in_flight", "_task", "ended", "peer", "size")

    def __init__(self, in_flight: InFlight, peer: Peer) -> None:
        self._in_flight = in_flight
        self._task: asyncio.Task[Any] | None = None
        self.peer = peer
        self.size = 0
        # Whether its room was given to another: its task is then cancelled.
        self.ended = False

    def wait(self, task: "asyncio.Task[Any]") -> None:
        """``task`` waits for the body; it is cancelled when the room is needed."""
        self._task = task
        self._in_flight.begins(self)

    def complete(self) -> None:
        """The body is complete: the room is kept until the request leaves."""
        self._in_flight.completes(self)
        self._task = None

    def hold(self, size: int) -> bool:
        """Take room for ``size`` bytes in all, more or less than before; False if there is none."""
        more = size - self.size
        if more > 0 and not self._in_flight.fits(self, more):
            return False
        self.keep(size)
        return True

    def keep(self, size: int) -> None:
        """Count ``size`` bytes in all: they are there, whether there is room or not."""
        self._in_flight.bytes += size - self.size
        self.peer.bytes += size - self.size
        self.size = size

    def end(self) -> None:
        """Give the room to another, and cancel who waits for the body."""
        self.ended = True
        self._in_flight.ended += 1
        self._in_flight.completes(self)
        self.keep(0)
        if self._task is not None:
            self._task.cancel()

    def leave(self) -> None:
        """Give it back."""
        self._in_flight.completes(self)
        self.keep(0)
        self._in_flight.requests -= 1
        self.peer.requests -= 1


def _bytes(peer: Peer) -> int:
    return sum(room.size for room in peer.incomplete)


def _end_largest(peer: Peer, asking: Reservation) -> bool:
    """End the incomplete request with most bytes, but not the one that asks."""
    others = [room for room in peer.incomplete if room is not asking and room.size]
    if not others:
        return False
    max(others, key=lambda room: room.size).end()
    return True

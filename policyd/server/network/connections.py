"""The connections of one port: how many each client has open, and which of them must be closed.

The limit includes connections in the TLS handshake, because every open connection uses memory. At
the limit, the address with the most connections loses one: the longest idle connection, else the
connection of its oldest incomplete request. So a client that opens many connections loses its own.
Closing an idle connection disturbs a client less than refusing a new one, on which it has just sent
a request. Nothing here knows the protocol of a connection.
"""

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol, get_args

from policyd.config import Settings
from policyd.gc_policy import exempt, give_back
from policyd.http.limits import Peer, share

# How often connections are checked for timeouts.
SWEEP_SECONDS = 0.25
# The part of the limit that is added for connections that are closing.
CLOSING_PART = 8
# After so many closed connections their memory is returned to the system. glibc would keep it
# forever, 15 KiB for each connection, in fragments that new connections do not fit in.
GIVE_BACK_AFTER = 256
# So many lasting connections become exempt from garbage collection at once: a collection visits 40
# objects of each, and would stop everything for 30 ms with 2,000 connections.
EXEMPT_AT = 32

CloseReason = Literal[
    "client",  # the client closed it
    "answered",  # after an answer with Connection: close
    "idle",  # no request for --keep-alive
    "handshake",  # the TLS handshake failed, or took too long
    "refused",  # the client certificate is no longer trusted
    "head",  # the head of a request took too long
    "write",  # the client did not read its response
    "flood",  # a body in tiny pieces
    "room",  # idle, and its place was needed for a new connection
    "full",  # a new connection for which there was no place
    "drain",  # the server is stopping
    "error",
]
REASONS: tuple[CloseReason, ...] = get_args(CloseReason)


class ConnectedPeer(Peer):
    """One client address, its requests and its connections."""

    __slots__ = ("connections", "idle")

    def __init__(self, address: str) -> None:
        super().__init__(address)
        # Its open connections, and its idle ones, the longest idle first. ``tcp.py`` removes busy
        # ones from ``idle``.
        self.connections = 0
        self.idle: dict[TrackedConnection, None] = {}


class TrackedConnection(Protocol):
    """A connection as this file needs it; ``server/network/tcp.py`` implements it."""

    peer: ConnectedPeer

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its timeouts has passed."""

    def end(self, reason: CloseReason) -> None:
        """Close it after sending what was written."""

    def abort(self) -> None:
        """Close it at once."""

    def close_if_idle(self) -> None:
        """Close it unless a request is under way."""

    @property
    def is_trusted(self) -> bool:
        """Whether the client would be accepted now."""

    def retire(self) -> None:
        """Close it when it is idle, or after a timeout."""


class PortConnections:
    """The connections of one port and their common state. ``malformed`` is called with the status
    and the address for each error that the app does not see, ``on_close`` with the reason and the
    address (empty if unknown) for each closed connection.
    """

    def __init__(
        self,
        most: int = 1 << 30,
        settings: Settings | None = None,
        end_incomplete: Callable[[Peer | None], bool] = lambda _: False,
        *,
        malformed: Callable[[int, str], None] = lambda *_: None,
        on_close: Callable[[CloseReason, str], None] = lambda *_: None,
    ) -> None:
        self.settings = settings or Settings()
        self.malformed = malformed
        self.draining = False
        # While draining: when the last request arrived, or the drain began (the loop's time).
        self.last_request = 0.0
        self.closing = False
        self.open: dict[TrackedConnection, None] = {}
        self.peers: dict[str, ConnectedPeer] = {}
        self.closed = dict.fromkeys(REASONS, 0)
        self._on_close = on_close
        self._most = most
        self._end_incomplete = end_incomplete
        # Closing to make room for a new connection, but not closed yet.
        self._replaced: dict[TrackedConnection, None] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._to_give_back = 0
        # Open, and not exempt from garbage collection.
        self._collected: dict[TrackedConnection, None] = {}

    @property
    def idle(self) -> int:
        """The number of connections without a request under way."""
        return sum(len(peer.idle) for peer in self.peers.values())

    def make_place(self, address: str) -> ConnectedPeer | None:
        """Return the client at ``address`` if it may open one more connection, else None."""
        peer = self.peers.get(address) or ConnectedPeer(address)
        ours = peer.connections >= share(self._most)
        full = len(self.open) >= self._most
        if (ours or full) and not self._make_place(peer, ours):
            self.turn_away(address)
            return None
        if len(self.open) >= self._most + max(1, self._most // CLOSING_PART):
            if not self._replaced:
                self.turn_away(address)
                return None
            hanging = next(iter(self._replaced))
            del self._replaced[hanging]
            hanging.abort()
        self.peers[address] = peer
        return peer

    def turn_away(self, address: str = "") -> None:
        """Count a new connection that is closed because there is no room for it."""
        self.closed["full"] += 1
        self._on_close("full", address)

    def add(self, connection: TrackedConnection) -> None:
        """Add a connection that was accepted; it is idle until a request arrives."""
        connection.peer.connections += 1
        connection.peer.idle[connection] = self.open[connection] = None
        self._collected[connection] = None
        if len(self._collected) > EXEMPT_AT:
            self._collected.clear()
            exempt()
        if self._sweep is None:
            self._arm()

    def remove(self, connection: TrackedConnection, reason: CloseReason) -> None:
        """Remove a closed connection."""
        peer = connection.peer
        peer.connections -= 1
        peer.idle.pop(connection, None)
        self._replaced.pop(connection, None)
        self._collected.pop(connection, None)
        del self.open[connection]
        if not peer.connections:
            self.peers.pop(peer.address, None)
        self.closed[reason] += 1
        self._on_close(reason, peer.address)
        self._to_give_back += 1

    def drain(self) -> None:
        """From now on record when requests arrive, and respond with ``Connection: close``."""
        self.draining = True
        self.last_request = asyncio.get_running_loop().time()

    def close_idle(self) -> None:
        """Close idle connections, and from now on each connection as soon as it is idle."""
        self.closing = True
        for connection in tuple(self.open):
            connection.close_if_idle()

    def close_distrusted(self) -> int:
        """Close the connections whose CA is no longer trusted, busy ones after their response;
        return their number.
        """
        gone = [connection for connection in self.open if not connection.is_trusted]
        for connection in gone:
            connection.retire()
        return len(gone)

    def _make_place(self, peer: ConnectedPeer, own: bool) -> bool:
        """Close an idle connection of ``peer`` if ``own``, else of the address with the most
        connections; if it has none, close the connection of an incomplete request.
        """
        most: ConnectedPeer | None = peer
        if not own:
            held = (each for each in self.peers.values() if each.idle or each.incomplete)
            most = max(held, key=lambda each: each.connections, default=None)
        if most is None or most.connections < peer.connections:
            return not own and self._end_incomplete(None)
        if not most.idle:
            return not own and self._end_incomplete(most)
        victim = next(iter(most.idle))
        del most.idle[victim]
        self._replaced[victim] = None
        victim.end("room")
        return True

    def _arm(self) -> None:
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._check_all)

    def _check_all(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in tuple(self.open):
            connection.check_timeouts(now)
        if self._to_give_back >= GIVE_BACK_AFTER:
            self._to_give_back = 0
            give_back()
        if self.open:
            self._arm()
        else:
            self._sweep = None

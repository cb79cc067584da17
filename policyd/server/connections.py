"""All connections of one port: how many there are, whose, and which of them have to go.

The cap is of connections, those in the TLS handshake included, because each costs memory whether
it is used or not. When it is reached, the connection that is idle for the longest time goes, of the
address that has most: whoever opens many connections loses his own, and a client notices the loss
of an idle connection less than that of a new one, on which it has just sent a request. Nothing here
knows what is spoken on a connection.
"""

import asyncio
import ctypes
import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from policyd.http.limits import Peer, share

# How often connections are looked through for those whose time is over.
SWEEP_SECONDS = 0.25
# Above the cap, for connections that were told to go and have not gone yet: an eighth of it.
CLOSING_PART = 8
# After so many connections were closed the memory they had is given back to the system. glibc keeps
# it otherwise, in pieces that the next connections do not fit in: 15 KiB a connection, for ever.
GIVE_BACK_AFTER = 256

CloseReason = Literal[
    "client",  # the client closed it
    "answered",  # after an answer with Connection: close
    "idle",  # no request for --keep-alive
    "handshake",  # the TLS handshake failed, or took too long
    "refused",  # the client certificate has a wrong name, or is no longer trusted
    "head",  # the head of a request took too long
    "write",  # the client did not take its answer
    "flood",  # more resets of HTTP/2 streams, or smaller pieces of bodies, than there is reason for
    "room",  # idle, and its place was needed
    "full",  # a newcomer for whom there was no place
    "drain",  # the server stops
    "error",
]
REASONS: tuple[CloseReason, ...] = CloseReason.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that a client may take."""

    handshake: float = 5.0
    head: float = 5.0
    write: float = 10.0
    keep_alive: float = 120.0


class TrackedConnection(Protocol):
    """A connection, as this file sees it: ``server_tcp.Connection``."""

    peer: Peer

    def look(self, now: float, timeouts: Timeouts) -> None:
        """Close it if its time is over."""

    def end(self, reason: CloseReason) -> None:
        """Close it, politely."""

    def abort(self) -> None:
        """Close it at once."""

    def go_away(self) -> None:
        """Tell the client to make its next request on another connection."""

    def close_if_idle(self) -> None:
        """Close it unless a request is under way."""

    @property
    def is_trusted(self) -> bool:
        """Whether its client would be let in now."""

    def retire(self) -> None:
        """Close it when it is idle, or after a time."""


class PortConnections:
    """The connections of one port, and what they have in common."""

    def __init__(
        self,
        most: int = 1 << 30,
        timeouts: Timeouts | None = None,
        client_names: Sequence[str] = (),
        end_incomplete: Callable[[], bool] = lambda: False,
        on_refused: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.client_names = tuple(client_names)
        self.timeouts = timeouts or Timeouts()
        self.draining = False
        self.closing = False
        self.open: dict[TrackedConnection, None] = {}
        self.peers: dict[str, Peer] = {}
        self.closed = dict.fromkeys(REASONS, 0)
        # Called with the reason when a client is refused because of its certificate's name.
        self.on_refused = on_refused
        self._most = most
        self._end_incomplete = end_incomplete
        # Told to go for a newcomer, and not gone yet.
        self._replaced: dict[TrackedConnection, None] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._to_give_back = 0

    @property
    def idle(self) -> int:
        """How many have no request under way."""
        return sum(len(peer.idle) for peer in self.peers.values())

    def make_place(self, address: str) -> Peer | None:
        """Who connects from ``address``, if there is or can be made a place for one more."""
        peer = self.peers.get(address) or Peer(address)
        ours = peer.connections >= share(self._most)
        full = len(self.open) >= self._most
        if (ours or full) and not self._make_place(peer, ours):
            self.turn_away()
            return None
        if len(self.open) >= self._most + max(1, self._most // CLOSING_PART):
            if not self._replaced:
                self.turn_away()
                return None
            hanging = next(iter(self._replaced))
            del self._replaced[hanging]
            hanging.abort()
        self.peers[address] = peer
        return peer

    def turn_away(self) -> None:
        """Count a new connection that is closed because there is no place for it."""
        self.closed["full"] += 1

    def add(self, connection: TrackedConnection) -> None:
        """A connection was accepted; it is idle until a request comes."""
        connection.peer.add_connection(connection)
        self.open[connection] = None
        if self._sweep is None:
            self._arm()

    def remove(self, connection: TrackedConnection, reason: CloseReason) -> None:
        """It is closed, and forgotten."""
        peer = connection.peer
        peer.remove_connection(connection)
        self._replaced.pop(connection, None)
        del self.open[connection]
        if not peer.connections:
            self.peers.pop(peer.address, None)
        self.closed[reason] += 1
        self._to_give_back += 1

    def drain(self) -> None:
        """Ask clients of HTTP/2 for new connections; answers in HTTP/1.1 do so by their head."""
        self.draining = True
        for connection in tuple(self.open):
            connection.go_away()

    def close_idle(self) -> None:
        """Close what is idle now, and from now on each connection as soon as it is."""
        self.closing = True
        for connection in tuple(self.open):
            connection.close_if_idle()

    def close_distrusted(self) -> int:
        """Close the connections whose authority is no longer trusted, busy ones when they have
        answered; their number.
        """
        gone = [connection for connection in self.open if not connection.is_trusted]
        for connection in gone:
            connection.retire()
        return len(gone)

    def _make_place(self, peer: Peer, own: bool) -> bool:
        """Close an idle connection: of ``peer`` if only ``own`` will do, else of who has most."""
        most: Peer | None = peer
        if not own:
            idle = (each for each in self.peers.values() if each.idle)
            most = max(idle, key=lambda each: each.connections, default=None)
        if most is None or not most.idle or most.connections < peer.connections:
            # Ends a request, and thereby its connection.
            return not own and self._end_incomplete()
        victim = next(iter(most.idle))
        most.mark_busy(victim)
        self._replaced[victim] = None
        victim.end("room")
        return True

    def _arm(self) -> None:
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in tuple(self.open):
            connection.look(now, self.timeouts)
        if self._to_give_back >= GIVE_BACK_AFTER:
            self._to_give_back = 0
            _give_back()
        if self.open:
            self._arm()
        else:
            self._sweep = None


def _trimmer() -> Callable[[int], int]:
    """``malloc_trim`` of glibc; elsewhere nothing is known that needs it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim if trim is not None else lambda _: 0


_trim = _trimmer()


def _give_back() -> None:
    """Closed connections are cycles of objects: collect them, and return their memory."""
    gc.collect()
    _trim(0)

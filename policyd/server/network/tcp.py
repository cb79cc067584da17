"""One connection from accept to close: reads and writes bytes, and enforces the client's timeouts.

Reading pauses while the client does not read its responses, and while it pipelines requests.
``http1.py`` interprets the bytes.
"""

import asyncio
from typing import Any, cast

from policyd.http.messages import App
from policyd.server.network.connections import CloseReason, ConnectedPeer, PortConnections
from policyd.server.network.http1 import Http1
from policyd.tls.handshakes import is_trusted

# Bytes that may wait for the client before writing pauses, and for policyd before reading pauses.
WRITE_BYTES = 32 * 1024
READ_BYTES = 32 * 1024
# A client that ignores the TLS close must not hold a connection: uvloop alone would wait 30 s.
CLOSE_SECONDS = 2.0
# A connection whose client is no longer trusted may finish its request; an API server waits no
# longer than this for a response.
DISTRUSTED_SECONDS = 30.0
# While the server stops, a connection that is newer than this probably brings a request.
FRESH_SECONDS = 1.0


class Connection(asyncio.Protocol):
    """A client connection. ``run`` serves it; the other methods are callbacks of transport and
    protocol.
    """

    def __init__(
        self, connections: PortConnections, peer: ConnectedPeer, address: tuple[Any, ...]
    ) -> None:
        self.peer = peer
        self.client = (peer.address, int(address[1]))
        self.scheme = "http"
        self.reason: CloseReason = "client"  # why it ends
        # Whether the client has to read before more is written.
        self.is_full = False
        self._loop = asyncio.get_running_loop()
        self._connections = connections
        self._requests: Http1 | None = None
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[Any] | None = None
        self._early: list[bytes] = []
        self._reading = True
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._writers: list[asyncio.Future[None]] = []
        self._full_since: float | None = None
        self._since = self._loop.time()
        self._idle_since: float | None = self._since
        self._head_since: float | None = None
        self._closing_since: float | None = None
        self._used = False
        self._retired = False

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The TCP connection is open, and the TLS handshake is done if there is one."""
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BYTES)
        encrypted = getattr(transport, "set_read_buffer_limits", None)
        if encrypted is not None:
            encrypted(high=READ_BYTES)
        if self._closing_since is not None:  # its place was needed before it was open
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        if self._closing_since is not None:
            return  # no response could be sent
        if self._requests is not None:
            self._requests.feed(data)
        else:
            self._early.append(data)

    def eof_received(self) -> None:
        """The client sends no more bytes: the transport closes itself."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Either side has closed the connection."""
        if not self._lost.done():
            self._lost.set_result(None)
        if self._requests is not None:
            self._requests.lost()
        self.resume_writing()

    def pause_writing(self) -> None:
        """The client does not read what is written."""
        self.is_full = True
        if self._full_since is None:
            self._full_since = self._loop.time()

    def resume_writing(self) -> None:
        """The client reads again, or is gone."""
        self.is_full = False
        for writer in self._writers:
            if not writer.done():
                writer.set_result(None)
        self._writers.clear()

    # Called by PortConnections.

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its timeouts has passed."""
        settings = self._connections.settings
        if self._closing_since is not None:
            if now - self._closing_since > CLOSE_SECONDS:
                self.abort()
        elif self._full_since is not None and now - self._full_since > settings.write_timeout:
            self.reason = "write"
            self.abort()
        elif self._idle_since is None:
            return  # a request is under way, which has its own timeout
        elif self._head_since is not None and now - self._head_since > settings.head_timeout:
            self.end("head")
        elif now - self._idle_since > settings.keep_alive:
            self.end("idle")
        elif self._connections.closing:
            self.close_if_idle()

    def end(self, reason: CloseReason) -> None:
        """Close it after sending what was written."""
        if self._closing_since is not None:
            return
        self.reason = reason
        self._closing_since = self._loop.time()
        if self._transport is None:  # in the handshake
            assert self._task is not None
            self._task.cancel()
            return
        self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def close_if_idle(self) -> None:
        """Close unless a request is under way, or the first one is about to come."""
        if self._transport is None:
            return  # the handshake has its own timeout
        fresh = not self._used and self._loop.time() - self._since < FRESH_SECONDS
        if self._idle_since is not None and not fresh:
            self.end("drain")

    @property
    def is_trusted(self) -> bool:
        """Whether its client would be accepted now; the handshake checks that anyway."""
        return self._transport is None or is_trusted(self._transport.get_extra_info("ssl_object"))

    def retire(self) -> None:
        """Close when it is idle, or after a time."""
        if not self._retired:
            self._retired = True
            self._loop.call_later(DISTRUSTED_SECONDS, self.abort)
            if self._idle_since is not None:
                self.end("refused")

    # Called by the listener.

    def accepted(self, task: asyncio.Task[Any]) -> None:
        """``task`` performs the handshake and then serves the connection."""
        self._task = task
        self._connections.add(self)

    def closed(self) -> None:
        """The task is done with it."""
        self._connections.remove(self, self.reason)

    async def run(self, app: App) -> None:
        """Serve the connection until it closes."""
        if self._transport is None:
            self.reason = "handshake"
            return
        self._task = None
        self._since = self._loop.time()
        secure = self._transport.get_extra_info("ssl_object")
        if not self.is_trusted:  # the CA was removed after the handshake
            self.reason = "refused"
            self.abort()
            return
        self.scheme = "http" if secure is None else "https"
        try:
            await self._serve(Http1(app, self))
        finally:
            self.abort()
            # Reference cycles, which would otherwise wait for the garbage collector.
            self._requests = None

    async def _serve(self, requests: Http1) -> None:
        self._requests = requests
        for data in self._early:
            requests.feed(data)
        self._early.clear()
        if self._lost.done():
            requests.lost()
        await requests.run(self._lost)

    # Called by the requests.

    def write(self, data: bytes | memoryview) -> None:
        """Write bytes at once."""
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
        if not self.is_full:
            self._full_since = None

    async def taken(self) -> None:
        """Wait until the client reads, or is gone; ``check_timeouts`` limits the wait."""
        while self.is_full and not self._lost.done():
            writer = self._loop.create_future()
            self._writers.append(writer)
            await writer

    def head_begins(self) -> None:
        """A part of a request's head has arrived; the rest has a timeout."""
        if self._idle_since is not None and self._head_since is None:
            self._head_since = self._loop.time()

    def becomes_busy(self) -> None:
        """A request is under way."""
        if self._idle_since is None:
            return
        self._idle_since = self._head_since = None
        self.peer.idle.pop(self, None)
        self._used = True
        if self._connections.draining:
            self._connections.last_request = self._loop.time()

    def becomes_idle(self) -> None:
        """No request is under way."""
        self._idle_since = self._loop.time()
        if not self.is_full:
            self._full_since = None
        if self._closing_since is None:
            self.peer.idle[self] = None
            if self._retired:
                self.end("refused")
            elif self._connections.closing:
                self.close_if_idle()

    def malformed(self, status: int) -> None:
        """Count a request that the app never sees."""
        self._connections.malformed(status, self.peer.address)

    def pause(self) -> None:
        """Read no more for now."""
        if self._reading and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if not self._reading and self._transport is not None:
            self._reading = True
            self._transport.resume_reading()

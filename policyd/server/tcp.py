"""One connection from accept to close: reads and writes bytes, and enforces the timeouts of its
client.

Reading pauses while the client does not read its responses, and while it pipelines requests. Each
response is one write and thereby one TLS record. ``http.py`` interprets the bytes.
"""

import asyncio
from typing import Any, cast

from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.typing import AppWrapper, ConnectionState

from policyd.http.endpoints import PEER
from policyd.http.limits import Peer
from policyd.server.connections import CloseReason, PortConnections, Timeouts
from policyd.server.http import MALFORMED, Flooded, Http1, Http2
from policyd.tls.certificates import has_name
from policyd.tls.handshakes import is_trusted

# Output is collected up to this size, and written at once beyond it.
FLUSH_BYTES = 64 * 1024
# Larger responses are written in pieces of this size, each after the client has read the previous
# one.
PIECE_BYTES = 256 * 1024
# Bytes that wait for the client before writing pauses, and bytes that wait for policyd before
# reading pauses.
WRITE_BYTES = 32 * 1024
READ_BYTES = 32 * 1024
# A client that ignores the TLS close must not hold a connection: uvloop alone would wait 30 s.
CLOSE_SECONDS = 2.0
# A connection whose client is no longer trusted may finish its request; an API server waits no
# longer than this for a response.
DISTRUSTED_SECONDS = 30.0
# While the server stops, a connection that is newer than this probably brings a request.
FRESH_SECONDS = 1.0
# The equivalent of ``Connection: close`` in HTTP/2: a GOAWAY frame without an error whose last
# stream is the highest there can be. Requests that are under way or being sent are still answered
# (RFC 9113, section 6.8). Written by hand because h2 sends nothing more after a GOAWAY frame of its
# own.
GO_AWAY = bytes((0, 0, 8, 7, 0, 0, 0, 0, 0)) + b"\x7f\xff\xff\xff" + bytes(4)


class Connection(asyncio.Protocol):
    """A client connection. ``run`` serves it; the other methods are callbacks of transport and
    protocol.
    """

    def __init__(self, connections: PortConnections, peer: Peer, address: tuple[Any, ...]) -> None:
        self.peer = peer
        self.reason: CloseReason = "client"
        self.protocol: Http1 | Http2 | None = None
        self._loop = asyncio.get_running_loop()
        self._connections = connections
        self._client = (peer.address, int(address[1]))
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[Any] | None = None
        self._unread: list[bytes] = []
        self._reader: asyncio.Future[None] | None = None
        self._handling = False
        self._reading = True
        self._lost = False
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._writers: list[asyncio.Future[None]] = []
        self._full = False
        self._full_since: float | None = None
        self._since = self._loop.time()
        self._idle_since: float | None = self._since
        self._head_since: float | None = None
        self._closing_since: float | None = None
        self._used = False
        self._gone_away = False
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
        if self._closing_since is not None:  # its place was needed before it was made
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        if self._unread or self._handling:
            self._pause()
        self._unread.append(data)
        self._wake()

    def eof_received(self) -> None:
        """The client sends no more bytes: the transport closes itself."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Either side has closed the connection."""
        self._lost = True
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        """The client does not read what is written."""
        self._full = True
        if self._full_since is None:
            self._full_since = self._loop.time()

    def resume_writing(self) -> None:
        """The client reads again, or is gone."""
        self._full = False
        for writer in self._writers:
            if not writer.done():
                writer.set_result(None)
        self._writers.clear()

    # Called by PortConnections.

    def check_timeouts(self, now: float, timeouts: Timeouts) -> None:
        """Close the connection if one of its timeouts has passed."""
        if self._closing_since is not None:
            if now - self._closing_since > CLOSE_SECONDS:
                self.abort()
        elif self._full_since is not None and now - self._full_since > timeouts.write:
            self.reason = "write"
            self.abort()
        elif self._idle_since is None:
            if isinstance(self.protocol, Http2):
                for stream_id in self.protocol.untaken(now - timeouts.write):
                    self._spawn(self.protocol.give_up, stream_id)
        elif self._head_since is not None and now - self._head_since > timeouts.head:
            self.end("head")
        elif now - self._idle_since > timeouts.keep_alive:
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
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def go_away(self) -> None:
        """Over HTTP/2: ask the client once to send its next request on another connection."""
        if isinstance(self.protocol, Http2) and not self._gone_away:
            self._gone_away = True
            self._write(GO_AWAY)

    def close_if_idle(self) -> None:
        """Close unless a request is under way, or the first one is about to come."""
        if self._transport is None:
            return  # the handshake has a time of its own
        fresh = not self._used and self._loop.time() - self._since < FRESH_SECONDS
        if self._idle_since is not None and not fresh:
            self.end("drain")

    @property
    def is_trusted(self) -> bool:
        """Whether its client would be let in now; in the handshake that is found out anyway."""
        return self._transport is None or is_trusted(self._transport.get_extra_info("ssl_object"))

    def retire(self) -> None:
        """Close when it is idle, or after a time."""
        if not self._retired:
            self._retired = True
            self._loop.call_later(DISTRUSTED_SECONDS, self.abort)
            self.go_away()
            if self._idle_since is not None:
                self.end("refused")

    # Called by the listener.

    def accepted(self, task: asyncio.Task[Any]) -> None:
        """``task`` makes the handshake and then runs it."""
        self._task = task
        self._connections.add(self)

    def fail(self, reason: CloseReason) -> None:
        """Note why the connection ends, where its task ends it."""
        self.reason = reason

    def closed(self) -> None:
        """The task is done with it."""
        self._connections.remove(self, self.reason)

    async def run(self, app: AppWrapper, config: Config, context: WorkerContext) -> None:
        """Serve the connection until it closes."""
        if self._transport is None:
            self.reason = "handshake"
            return
        self._task = None
        self._since = self._loop.time()
        secure = self._transport.get_extra_info("ssl_object")
        names = self._connections.client_names
        if secure is not None and names and not has_name(secure.getpeercert(), names):
            self._connections.on_refused("the client certificate has none of the names")
            self.reason = "refused"
            self.abort()
            return
        if not self.is_trusted:  # the authority was removed after the handshake
            self.reason = "refused"
            self.abort()
            return
        try:
            async with TaskGroup(self._loop) as group:
                self._group = group
                self.protocol = self._speak(app, config, context, group, secure)
                await self.protocol.initiate()
                if self._connections.draining:
                    self.go_away()
                await self._read(self.protocol)
        finally:
            self.abort()
            # Reference cycles, which would otherwise wait for the garbage collector.
            self.protocol = None
            del self._group

    def _speak(
        self, app: AppWrapper, config: Config, context: Any, group: TaskGroup, secure: Any
    ) -> Http1 | Http2:
        h2 = secure is not None and secure.selected_alpn_protocol() == "h2"
        return (Http2 if h2 else Http1)(
            app,
            config,
            context,
            group,
            ConnectionState({PEER: self.peer, MALFORMED: self._connections.on_malformed}),
            secure is not None,
            self._client,
            None,
            self.protocol_send,
        )

    async def _read(self, protocol: Http1 | Http2) -> None:
        """Pass the input to the protocol, piece by piece, until the connection ends."""
        one_at_a_time = isinstance(protocol, Http1)
        while True:
            if not self._unread:
                if self._lost:
                    break
                self._resume()
                self._reader = self._loop.create_future()
                await self._reader
                continue
            data = self._unread.pop(0)
            if one_at_a_time and self._idle_since is not None and self._head_since is None:
                self._head_since = self._loop.time()
            self._handling = True
            await protocol.handle(RawData(data))
            if self._full:
                await self._taken()
            self._handling = False
        await protocol.handle(Closed())

    async def protocol_send(self, event: Event) -> None:
        """Handle an event of the protocol: bytes to write, idle or busy, closed."""
        if isinstance(event, RawData):
            if len(event.data) > FLUSH_BYTES:
                await self._write_large(memoryview(event.data))
            else:
                self._write(event.data)
            if self._full:
                await self._taken()
        elif isinstance(event, Updated):
            if event.idle:
                self._becomes_idle()
            elif self._idle_since is not None:
                self._idle_since = self._head_since = None
                self.peer.mark_busy(self)
                self._used = True
                if self._connections.draining:
                    self.go_away()
        elif isinstance(event, Closed):
            self.end("flood" if isinstance(event, Flooded) else "answered")

    def _becomes_idle(self) -> None:
        self._idle_since = self._loop.time()
        if self._closing_since is None:
            self.peer.mark_idle(self)
            if self._retired:
                self.end("refused")
            elif self._connections.closing:
                self.close_if_idle()

    def _write(self, data: bytes) -> None:
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > FLUSH_BYTES:
            self._flush()

    async def _write_large(self, data: memoryview) -> None:
        """Write a whole HTTP/1.1 response: no other request writes meanwhile."""
        self._flush()
        for start in range(0, len(data), PIECE_BYTES):
            if self._transport is not None and not self._lost:
                self._transport.write(data[start : start + PIECE_BYTES])
            if self._full:
                await self._taken()

    def _flush(self) -> None:
        """Write all pending output at once: one TLS record."""
        if not self._pending:
            return
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
        if not self._full:
            self._full_since = None

    async def _taken(self) -> None:
        """Wait until the client reads, or is gone; ``check_timeouts`` limits the wait."""
        while self._full and not self._lost:
            writer = self._loop.create_future()
            self._writers.append(writer)
            await writer

    def _pause(self) -> None:
        if self._reading and self._transport is not None:
            self._reading = False
            self._transport.pause_reading()

    def _resume(self) -> None:
        if not self._reading and self._transport is not None:
            self._reading = True
            self._transport.resume_reading()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    def _spawn(self, function: Any, *arguments: Any) -> None:
        self._group.spawn(function, *arguments)

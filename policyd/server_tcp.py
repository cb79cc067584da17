"""One connection under Hypercorn, made cheaper: one write per answer, one idle timer.

Hypercorn 0.18 writes head, body and end of an answer one by one (three TLS records), and starts and
cancels an idle task around every request. ``Connection`` stands in for its TCPServer, which
``worker_serve`` finds as a global of its module: ``Connections.install`` checks that it still does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any

from hypercorn.asyncio import run as hypercorn_run
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.events import Closed, Event, RawData, Updated

from policyd.certificates import has_name
from policyd.endpoints import ARRIVED
from policyd.errors import InternalError
from policyd.handshakes import is_trusted

# Answers beyond this are written at once, and wait until the client takes them.
FLUSH_BYTES = 64 * 1024
# A client that ignores the TLS close must not hold a connection: uvloop alone waits 30 s.
CLOSE_SECONDS = 2.0
# A connection whose client is no longer trusted may finish what it has begun; an API server waits
# for an answer no longer than this.
DISTRUSTED_SECONDS = 30.0
# What ``Connection: close`` is in HTTP/2: a GOAWAY frame without an error that gives up no stream
# (its last is the highest there can be): what is under way, or on its way, is still answered
# (RFC 9113, section 6.8). Written by hand because h2 sends nothing more after a GOAWAY of its own.
GO_AWAY = bytes((0, 0, 8, 7, 0, 0, 0, 0, 0)) + b"\x7f\xff\xff\xff" + bytes(4)


class Connections:
    """All open connections, and what they have in common."""

    def __init__(self, client_names: Sequence[str] = ()) -> None:
        self.client_names = tuple(client_names)
        self.draining = False
        self.closing = False
        self.open: set[Connection] = set()
        # Called with the reason when a client is refused; replaced by who logs and counts it.
        self.on_refused: Callable[[str], None] = _ignore

    def install(self) -> None:
        """Make Hypercorn use ``Connection``; raises InternalError where that cannot work."""
        if not hasattr(hypercorn_run, "TCPServer"):
            raise InternalError("hypercorn.asyncio.run has no TCPServer: policyd needs 0.18")
        setattr(hypercorn_run, "TCPServer", partial(Connection, self))  # noqa: B010 - a class to mypy

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


class Connection(TCPServer):
    """A client connection from accept to close."""

    def __init__(self, connections: Connections, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.idle_task = _NoTask()  # type: ignore[assignment]  # the same two methods
        # Hypercorn hands the same dict to every connection; each request copies it into its scope.
        self.state = type(self.state)(self.state)
        self._connections = connections
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._idle_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        # Over HTTP/2 many requests share a connection: none is told apart here.
        self._one_at_a_time = True
        self._gone_away = False
        self._retired = False

    @property
    def is_trusted(self) -> bool:
        """Whether its client would be let in now."""
        return is_trusted(self.writer.get_extra_info("ssl_object"))

    def retire(self) -> None:
        """Close when it is idle, or after a time."""
        if not self._retired:
            self._retired = True
            self.loop.call_later(DISTRUSTED_SECONDS, self.writer.transport.abort)
            self.go_away()
            self.close_if_idle()

    async def run(self) -> None:
        """Serve the connection until it closes."""
        secure = self.writer.get_extra_info("ssl_object")
        if secure is not None:
            self._one_at_a_time = secure.selected_alpn_protocol() != "h2"
            names = self._connections.client_names
            if names and not has_name(secure.getpeercert(), names):
                self._connections.on_refused("the client certificate has none of the names")
                self.writer.transport.abort()
                return
        if not self.is_trusted:  # the authority was removed since the handshake
            self.writer.transport.abort()
            return
        self._connections.open.add(self)
        self._idle_since = self.loop.time()
        self._arm(self.config.keep_alive_timeout)
        try:
            await super().run()
        finally:
            self._connections.open.discard(self)
            if self._timer is not None:
                self._timer.cancel()

    async def protocol_send(self, event: Event) -> None:
        """What Hypercorn's protocol has to say: bytes, idle or busy, closed."""
        if isinstance(event, RawData):
            self._write(event.data)
            if self._pending_bytes > FLUSH_BYTES:
                await self._flush_and_wait()
        elif isinstance(event, Updated):
            if event.idle:
                self._idle_since = self.loop.time()
                if self._connections.closing or self._retired:
                    self.close_if_idle()
            else:
                self._idle_since = None
                if self._one_at_a_time:
                    self.protocol.state[ARRIVED] = perf_counter_ns()
                elif self._connections.draining:
                    self.go_away()
        elif isinstance(event, Closed):
            await self._close()

    def go_away(self) -> None:
        """Over HTTP/2: tell the client once to make its next request on another connection."""
        if not (self._one_at_a_time or self._gone_away):
            self._gone_away = True
            self._write(GO_AWAY)

    def close_if_idle(self) -> None:
        """Close unless a request is under way."""
        if self._idle_since is not None:
            self._idle_since = None
            self._task_group.spawn(self._initiate_server_close)

    def _write(self, data: bytes) -> None:
        if not self._pending:
            self.loop.call_soon(self._flush)
        self._pending.append(data)
        self._pending_bytes += len(data)

    def _flush(self) -> None:
        """Everything that was sent since the last time, as one write: one TLS record."""
        if not self._pending:
            return
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        if not self.writer.transport.is_closing():
            self.writer.write(data)

    async def _flush_and_wait(self) -> None:
        self._flush()
        try:
            await self.writer.drain()
        except (ConnectionError, RuntimeError):
            await self.protocol.handle(Closed())

    async def _initiate_server_close(self) -> None:
        self._flush()
        await super()._initiate_server_close()

    async def _close(self) -> None:
        self._flush()
        abort = self.loop.call_later(CLOSE_SECONDS, self.writer.transport.abort)
        try:
            await super()._close()
        finally:
            abort.cancel()

    def _arm(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """The timer: close what was idle long enough, else look again when it could be."""
        longest = self.config.keep_alive_timeout
        since = self._idle_since
        left = longest if since is None else since + longest - self.loop.time()
        if left > 0:
            self._arm(left)
        else:
            self.close_if_idle()


def _ignore(_: str) -> None:
    """Nobody wants to know."""


class _NoTask:
    """In place of Hypercorn's idle task, which our timer makes needless."""

    async def restart(self, task_group: Any, action: Callable[[], Awaitable[None]]) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

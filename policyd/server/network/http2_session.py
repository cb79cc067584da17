"""HTTP/2 on a connection: passes bytes and events between ``tcp.py`` and Hypercorn's protocol.

Imported only for ``--http2``: without it policyd needs none of these libraries.
"""

import asyncio
import logging
import sys
from typing import Any, cast

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.typing import ASGIFramework, ConnectionState

from policyd.http.endpoints import PEER
from policyd.http.messages import App
from policyd.server.network.http2 import Flooded, Http2
from policyd.server.network.tcp import Connection

# Output is collected up to this size, and written at once beyond it.
FLUSH_BYTES = 64 * 1024
# The equivalent of ``Connection: close`` in HTTP/2: a GOAWAY frame without an error whose last
# stream is the highest there can be. Requests that are under way or being sent are still answered
# (RFC 9113, section 6.8). Written by hand because h2 sends nothing more after a GOAWAY frame of its
# own.
GO_AWAY = bytes((0, 0, 8, 7, 0, 0, 0, 0, 0)) + b"\x7f\xff\xff\xff" + bytes(4)


class Http2Session:
    """The requests of one connection over HTTP/2."""

    def __init__(self, app: App, connection: Connection) -> None:
        self._app = ASGIWrapper(cast(ASGIFramework, app))
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._group = TaskGroup(self._loop)
        self._protocol = Http2(
            self._app,
            CONFIG,
            WorkerContext(None),
            self._group,
            ConnectionState({PEER: connection.peer}),
            connection.scheme == "https",
            connection.client,
            None,
            self._send,
        )
        self._unread: list[bytes] = []
        self._reader: asyncio.Future[None] | None = None
        self._handling = False
        self._lost = False
        self._begun = self._gone_away = False
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    # Called by the connection.

    def feed(self, data: bytes) -> None:
        """Bytes have arrived."""
        if self._unread or self._handling:
            self._connection.pause()
        self._unread.append(data)
        self._wake()

    def lost(self) -> None:
        """The connection is closed."""
        self._lost = True
        self._wake()

    def flush(self) -> None:
        """Write all pending output at once: one TLS record."""
        if self._pending:
            data = b"".join(self._pending)
            self._pending.clear()
            self._pending_bytes = 0
            self._connection.write(data)

    def go_away(self) -> None:
        """Ask the client once to send its next request on another connection."""
        if not self._gone_away:
            self._gone_away = True
            if self._begun:
                self._write(GO_AWAY)

    def give_up_untaken(self, before: float) -> None:
        """Reset the streams whose responses wait for the client since before a time of the loop."""
        for stream_id in self._protocol.untaken(before):
            self._group.spawn(self._protocol.give_up, stream_id)

    async def run(self, lost: "asyncio.Future[None]") -> None:
        """Pass the input to the protocol, piece by piece, until the connection is lost."""
        async with self._group:
            await self._protocol.initiate()
            self._begun = True  # what the server sends begins with its settings (RFC 9113, 3.4)
            if self._gone_away:
                self._write(GO_AWAY)
            while self._unread or not self._lost:
                if not self._unread:
                    self._connection.resume()
                    self._reader = self._loop.create_future()
                    await self._reader
                    continue
                self._handling = True
                await self._protocol.handle(RawData(self._unread.pop(0)))
                await self._connection.taken()
                self._handling = False
            await self._protocol.handle(Closed())
        # Reference cycles, also in h2, which only the garbage collector would end.
        vars(self._protocol.connection).clear()
        del self._protocol, self._group

    # Called by the protocol.

    async def _send(self, event: Event) -> None:
        """Handle an event: bytes to write, idle or busy, closed."""
        if isinstance(event, RawData):
            self._write(event.data)
            await self._connection.taken()
        elif isinstance(event, Updated):
            if event.idle:
                self._connection.becomes_idle()
            else:
                self._connection.becomes_busy()
        elif isinstance(event, Closed):
            self._connection.end("flood" if isinstance(event, Flooded) else "answered")

    def _write(self, data: bytes) -> None:
        if not self._pending:
            self._loop.call_soon(self.flush)
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > FLUSH_BYTES:
            self.flush()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)


class _Config(Config):
    """The configuration of Hypercorn's protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.accesslog = None
        self.errorlog = logging.getLogger("hypercorn.error")
        self.include_date_header = False
        self.include_server_header = False
        self.keep_alive_max_requests = sys.maxsize
        # The endpoints limit how much they read, and stop reading only after they have answered. A
        # bounded queue would then block the task of the connection forever.
        self.max_app_queue_size = 0


CONFIG: Any = _Config()

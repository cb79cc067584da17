"""``--server hypercorn``: a port whose HTTP/1.1 and HTTP/2 Hypercorn reads.

policyd only configures Hypercorn, which neither limits nor reports single connections:
docs/reference/server.md compares both servers. The limits of the app apply to both.
"""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, cast

from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import Framework

from policyd.config import Settings
from policyd.http.endpoints import ARRIVED, PEER
from policyd.http.messages import App, ASGIScope, Receive, Send
from policyd.server.network.connections import ConnectedPeer, PortConnections
from policyd.server.network.listen import BACKLOG, Port


class HypercornPort(Port):
    """One port. ``failed`` is called if Hypercorn ends by itself."""

    def __init__(
        self,
        listening: socket.socket,
        connections: PortConnections,
        app: App,
        settings: Settings,
        *,
        failed: Callable[[BaseException | None], None],
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(listening)
        self._connections = connections
        self._app = app
        self._failed = failed
        self._config = _Config(settings, context)
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Listen, and let Hypercorn accept connections."""
        super().start()
        # Hypercorn warns about each write to a connection that the client has closed.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        self._config.bind = f"fd://{os.dup(self._socket.fileno())}"  # Hypercorn closes its copy
        app = cast(Framework, self._answer)
        serving = serve(app, self._config, shutdown_trigger=self._stopping.wait, mode="asgi")
        self._task = self._loop.create_task(serving)
        self._task.add_done_callback(self._ended)

    async def finish(self, seconds: float) -> bool:
        """Wait until all connections are closed; False if some are open after ``seconds``."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)
        return self._task is None or self._task.done()

    def _close(self) -> None:
        self._stopping.set()
        self._socket.close()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not self._stopping.is_set() and not task.cancelled():
            self._failed(task.exception())

    async def _answer(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its arrival and client, which the limits of the app need."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._connections.last_request = self._loop.time()
        scope["state"][ARRIVED] = perf_counter_ns()
        await asyncio.sleep(0)  # all requests read so far arrive before the first is evaluated
        peers, address = self._connections.peers, scope["client"][0]
        peer = scope["state"][PEER] = peers.setdefault(address, ConnectedPeer(address))
        try:
            await self._app(scope, receive, send)
        finally:
            if not peer.requests:
                peers.pop(address, None)


class _Config(Config):
    """The settings of Hypercorn that policyd overrides."""

    def __init__(self, settings: Settings, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._context = context
        self.backlog = BACKLOG
        self.errorlog = logging.getLogger("hypercorn.error")
        self.include_date_header = self.include_server_header = False
        self.keep_alive_timeout = settings.keep_alive
        self.keep_alive_max_requests = sys.maxsize
        self.ssl_handshake_timeout = settings.handshake_timeout
        self.graceful_timeout = settings.grace
        # The app limits how much of a body it reads, and stops reading once it has answered: a
        # bounded queue would then block the connection forever.
        self.max_app_queue_size = 0

    @property
    def ssl_enabled(self) -> bool:
        """Whether the port is the review port."""
        return self._context is not None

    def create_ssl_context(self) -> Any:
        """Return policyd's own context, which passes each connection to the context in use."""
        return self._context

"""Listen on one port: accept connections, enforce the connection limit, run the TLS handshake.

When it stops listening, every client that has connected still gets its response.
"""

import asyncio
import socket
import ssl
import struct
from abc import ABC, abstractmethod
from array import array
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from policyd.errors import ConfigError
from policyd.option_values import Address
from policyd.server.network.connections import PortConnections
from policyd.server.network.tcp import CLOSE_SECONDS, Connection

BACKLOG = 1024
# Connections accepted before other tasks run.
AT_ONCE = 64
# How long accepting pauses when the process has no file descriptors left.
REST_SECONDS = 0.1
# The kernel's buffers for a connection, in each direction (the kernel doubles the value). They
# count as memory of the Pod and would grow to megabytes for a client that does not read. TLS and
# HTTP also copy the bytes of each read.
KERNEL_BYTES = 64 * 1024
# How long connections that were started before the listener stopped may take to be established.
LATE_SECONDS = 0.1
# A filter (classic BPF) that drops packets that open a connection: those with the SYN flag in byte
# 13 of the TCP header. Without it a client that connects while the socket closes would be reset.
SO_ATTACH_FILTER = 26
DROP_SYN = ((0x30, 0, 0, 13), (0x45, 0, 1, 2), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))

Serve = Callable[[Connection], Awaitable[None]]


def bound(address: Address) -> socket.socket:
    """A socket that is bound to the address but does not listen yet."""
    six = ":" in address.host
    made = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if six:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    try:
        made.bind((address.host, address.port))
    except OSError as error:
        made.close()
        raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from None
    made.setblocking(False)
    return made


class Port(ABC):
    """One listening socket; any worker may accept its connections."""

    def __init__(self, listening: socket.socket) -> None:
        self._socket = listening
        self._loop = asyncio.get_running_loop()
        self._listens = False

    def start(self) -> None:
        """Start to listen."""
        self._listens = True
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # accepted sockets inherit them
            self._socket.setsockopt(socket.SOL_SOCKET, option, KERNEL_BYTES)
        self._socket.listen(BACKLOG)

    async def stop(self) -> None:
        """Accept the connections that are being established, and no more."""
        if not self._listens:
            self._socket.close()
            return
        program = b"".join(struct.pack("HBBI", *step) for step in DROP_SYN)
        code = array("B", program)  # provides an address, and lives until the kernel has read it
        filtered = struct.pack("HP", len(DROP_SYN), code.buffer_info()[0])
        # Some sandboxes have no filters: clients that connect at this moment are then reset.
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filtered)
        await asyncio.sleep(LATE_SECONDS)
        self._close()

    @abstractmethod
    def _close(self) -> None:
        """Accept waiting connections, and close the socket."""

    @abstractmethod
    async def finish(self, seconds: float) -> bool:
        """Wait until all connections are closed; False if some are open after ``seconds``."""


class Listener(Port):
    """A port whose connections policyd serves itself."""

    at_once = AT_ONCE

    def __init__(
        self,
        listening: socket.socket,
        connections: PortConnections,
        serve: Serve,
        context: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        super().__init__(listening)
        self._connections = connections
        self._serve = serve
        # Called for each connection: a reload may have replaced the context.
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start to accept connections."""
        super().start()
        self._loop.add_reader(self._socket, self._accept)

    def _close(self) -> None:
        self._loop.remove_reader(self._socket)
        while self._accept():
            pass
        self._socket.close()

    async def finish(self, seconds: float) -> bool:
        """Wait until all connections are closed; False if some are open after ``seconds``."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return not self._tasks

    def _accept(self) -> bool:
        """Accept some of the waiting connections; return whether there were any."""
        for count in range(self.at_once):
            try:
                accepted, address = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return count > 0
            except OSError:
                self._rest()
                return False
            peer = self._connections.make_place(address[0])
            if peer is None:
                accepted.close()
                continue
            accepted.setblocking(False)
            connection = Connection(self._connections, peer, address)
            task = self._loop.create_task(self._run(accepted, connection))
            connection.accepted(task)
            self._tasks.add(task)
            task.add_done_callback(partial(self._done, connection, accepted))
        return True

    def _done(
        self, connection: Connection, accepted: socket.socket, task: asyncio.Task[None]
    ) -> None:
        accepted.close()  # nothing else does if the task was cancelled before it began
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            connection.reason = "error"
        connection.closed()
        if error is not None:
            context = {"message": "an unexpected error closed a connection", "exception": error}
            self._loop.call_exception_handler(context)

    def _rest(self) -> None:
        """Pause accepting: too many files are open."""
        self._connections.turn_away()
        self._loop.remove_reader(self._socket)
        self._loop.call_later(REST_SECONDS, self._accept_again)

    def _accept_again(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.add_reader(self._socket, self._accept)

    async def _run(self, accepted: socket.socket, connection: Connection) -> None:
        if await self._shake_hands(accepted, connection):
            await self._serve(connection)

    async def _shake_hands(self, accepted: socket.socket, connection: Connection) -> bool:
        if self._context is None:
            await self._loop.connect_accepted_socket(lambda: connection, accepted)
            return True
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._context(),
                ssl_handshake_timeout=self._connections.settings.handshake_timeout,
                ssl_shutdown_timeout=CLOSE_SECONDS,
            )
        except (OSError, TimeoutError):  # ssl.SSLError among them
            connection.reason = "handshake"
            return False
        return True

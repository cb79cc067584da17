"""Listening on one port: accept, give each client a place or none, make the TLS handshake.

And stop so that nobody who has connected is left without an answer.
"""

import asyncio
import ctypes
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from policyd.server.connections import PortConnections
from policyd.server.tcp import CLOSE_SECONDS, Connection

BACKLOG = 1024
# Connections accepted before others get their turn.
AT_ONCE = 64
# How long accepting rests when the process has no more file descriptors.
REST_SECONDS = 0.1
# The kernel's own buffers for a connection, each way (it takes twice that). They count as memory
# of the Pod, and grow to megabytes where a client does not read; and what is read at once is copied
# for TLS and HTTP.
KERNEL_BYTES = 64 * 1024
# How long connections that were begun before the listener stopped may take until they are made.
LATE_SECONDS = 0.1
# A filter (classic BPF) that drops what asks for a new connection: skip if the SYN flag is set in
# byte 13 of the TCP header. Without it a client that connects in the moment of closing is reset.
SO_ATTACH_FILTER = 26
DROP_SYN = ((0x30, 0, 0, 13), (0x45, 0, 1, 2), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))

Serve = Callable[[Connection], Awaitable[None]]


class Listener:
    """One listening socket."""

    def __init__(
        self,
        listening: socket.socket,
        connections: PortConnections,
        serve: Serve,
        context: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._socket = listening
        self._connections = connections
        self._serve = serve
        # Asked for each connection: after a reload it may be another one.
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Accept connections from now on."""
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # inherited by what is accepted
            self._socket.setsockopt(socket.SOL_SOCKET, option, KERNEL_BYTES)
        self._socket.listen(BACKLOG)
        self._loop.add_reader(self._socket, self._accept)

    async def stop(self) -> None:
        """Accept what is on its way, and nothing more."""
        program = b"".join(struct.pack("HBBI", *step) for step in DROP_SYN)
        code = ctypes.create_string_buffer(program)
        filtered = struct.pack("HP", len(DROP_SYN), ctypes.addressof(code))
        # A sandbox may be without filters: who connects in this moment is then reset.
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filtered)
        await asyncio.sleep(LATE_SECONDS)
        self._loop.remove_reader(self._socket)
        while self._accept():
            pass
        self._socket.close()

    async def finish(self, seconds: float) -> bool:
        """Wait until all connections are closed; False if some are not after ``seconds``."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return not self._tasks

    def _accept(self) -> bool:
        """Accept some of what waits; whether any did."""
        for count in range(AT_ONCE):
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
            task.add_done_callback(partial(self._done, connection))
        return True

    def _done(self, connection: Connection, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            connection.fail("error")
        connection.closed()
        if error is not None:
            context = {"message": "a connection ended by a defect", "exception": error}
            self._loop.call_exception_handler(context)

    def _rest(self) -> None:
        """Too many files are open: try again when some are closed."""
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
                ssl_handshake_timeout=self._connections.timeouts.handshake,
                ssl_shutdown_timeout=CLOSE_SECONDS,
            )
        except (OSError, TimeoutError):  # ssl.SSLError among them
            connection.fail("handshake")
            return False
        return True

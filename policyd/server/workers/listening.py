"""Accepts connections from a socket that all workers share, so that each gets its share.

The kernel wakes every idle worker for a connection, and an API server keeps connections open for
long: without turns, one worker might get most of them. With a socket for each worker
(SO_REUSEPORT) the kernel would reset connections that a dying worker has not accepted yet.
"""

import socket
import ssl
from collections.abc import Callable

from policyd.server.network.connections import PortConnections
from policyd.server.network.listen import Listener, Serve
from policyd.server.workers.board import Board

# How long a worker leaves a connection to workers with fewer connections, which may be busy.
TURN_SECONDS = 0.005


class SharedListener(Listener):
    """A listener of one of several workers."""

    at_once = 1

    def __init__(
        self,
        listening: socket.socket,
        connections: PortConnections,
        serve: Serve,
        context: Callable[[], ssl.SSLContext],
        *,
        board: Board,
        worker: int,
    ) -> None:
        super().__init__(listening, connections, serve, context)
        self._board = board
        self._worker = worker

    def start(self) -> None:
        """Start to accept connections when it is this worker's turn."""
        super().start()
        self.note()
        self._loop.add_reader(self._socket, self._take_turn)

    def note(self) -> None:
        """Publish how many connections are open."""
        self._board.opened(self._worker, len(self._connections.open))

    def _take_turn(self) -> None:
        self.note()
        if self._board.is_least(self._worker):
            self._accept()
            self.note()
        else:
            self._loop.remove_reader(self._socket)
            self._loop.call_later(TURN_SECONDS, self._accept_late)

    def _accept_late(self) -> None:
        """Accept a connection that no other worker has accepted."""
        if self._socket.fileno() >= 0:
            self._accept()
            self._accept_again()

    def _accept_again(self) -> None:
        if self._socket.fileno() >= 0:
            self.note()
            self._loop.add_reader(self._socket, self._take_turn)

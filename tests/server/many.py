"""Many TLS connections to one server, of several addresses: idle, slow or busy. No tests here."""

import socket
import ssl
import time
from collections import Counter
from collections.abc import Sequence

from policyd.server.network.connections import SWEEP_SECONDS
from tests.server.process import Process, trusting, until

# One address may have three quarters of the connections of a server.
ADDRESSES = tuple(f"127.0.0.{number}" for number in range(2, 10))
SECONDS = 120.0  # for an answer; thousands of them come one after the other
IDLE = 'policyd_connections{port="reviews",state="idle"}'
BUSY = 'policyd_connections{port="reviews",state="busy"}'
_MARK = b"\r\n\r\n"


class ManyConnections:
    """Keep-alive connections."""

    def __init__(self, server: Process) -> None:
        self._server = server
        self._context = trusting()
        self._sockets: list[ssl.SSLSocket] = []

    def open(self, count: int) -> None:
        """Open that many more."""
        for number in range(count):
            address = ADDRESSES[number % len(ADDRESSES)]
            raw = socket.create_connection(("127.0.0.1", self._server.port), SECONDS, (address, 0))
            self._sockets.append(self._context.wrap_socket(raw))

    def send(self, data: bytes) -> None:
        """Send the same on each of them."""
        for sock in self._sockets:
            sock.sendall(data)

    def receive(self) -> Counter[int]:
        """Read one answer on each of them; return how many there were of each status."""
        return Counter(_receive(sock) for sock in self._sockets)

    def take_turns(self, requests: Sequence[bytes]) -> None:
        """Send one request on each of them, one after the other; all are evaluated."""
        for number, sock in enumerate(self._sockets):
            sock.sendall(requests[number % len(requests)])
            assert _receive(sock) == 200

    def close(self) -> None:
        """Close all of them, and wait until the server has noticed and has given memory back."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()
        until(lambda: not self.counted(), "the end of the connections", SECONDS)
        time.sleep(2 * SWEEP_SECONDS)

    def counted(self) -> int:
        """How many the server has, busy or idle."""
        return round(self._server.metric(IDLE)) + self.busy()

    def busy(self) -> int:
        """On how many of them a request is under way."""
        return round(self._server.metric(BUSY))


def _receive(sock: ssl.SSLSocket) -> int:
    """Read one answer; return its status."""
    data = b""
    while (end := data.find(_MARK)) < 0:
        data += _read(sock)
    head = data[:end].lower()
    length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    while len(data) < end + len(_MARK) + length:
        data += _read(sock)
    return int(head.split(b" ", 2)[1])


def _read(sock: ssl.SSLSocket) -> bytes:
    data = sock.recv(65536)
    assert data, "the server closed a connection"
    return data

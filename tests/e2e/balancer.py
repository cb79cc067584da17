"""What a Service does for a webhook: an address whose new connections go to the backend of the day.

Connections that exist stay with the backend they were made to, as with kube-proxy. No tests here.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

CHUNK = 1 << 16


class Balancer:
    """Listens on ``port``; ``backend`` is the port that the next connection is made to."""

    def __init__(self, backend: int) -> None:
        self.backend = backend
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets = [self._listener]
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def next_backend(self) -> int:
        """The port of the next connection."""
        return self.backend

    def close(self) -> None:
        """Cut every connection."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _start(self, work: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(("127.0.0.1", self.next_backend()))
            except ConnectionRefusedError:
                near.close()
                continue
            self._sockets += [near, far]
            self._start(_copy, near, far)
            self._start(_copy, far, near)


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Bytes from one end to the other until the source ends, which the target is told."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(CHUNK):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def balancer(backend: int) -> Iterator[Balancer]:
    """A balancer that is closed at the end."""
    made = Balancer(backend)
    try:
        yield made
    finally:
        made.close()

"""Several policyds behind one address, and a way to the API server that can be cut. No tests here."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.balancer import Balancer
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.webhook import serving
from tests.server.process import Process

_NOWHERE = 1  # a port that nobody listens on


class Service(Balancer):
    """Takes a further backend for each connection, as a Service does."""

    def __init__(self, *ports: int) -> None:
        self._ports = cycle(ports)
        super().__init__(ports[0])

    def next_backend(self) -> int:
        """The port of the next connection."""
        return next(self._ports)


class Gate(Balancer):
    """The way to the API server."""

    def __init__(self, api: Cluster) -> None:
        self._api_port = urlsplit(api.server).port or 0
        super().__init__(self._api_port)

    def cut(self) -> None:
        """End every connection, and let none through."""
        self.backend = _NOWHERE
        for each in self._sockets[1:]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def open(self) -> None:
        """Let connections through again."""
        self.backend = self._api_port


def admin_kubeconfig(api: Cluster, file: Path, port: int = 0) -> Path:
    """A kubeconfig of the administrator; ``port``: of what stands before the API server."""
    files = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    document = kubeconfig_document(api, *files)
    if port:
        document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    file.write_text(json.dumps(document))
    return file


@contextmanager
def replicas(
    api: Cluster, count: int, sources: Path, folder: Path, **settings: str
) -> Iterator[list[Process]]:
    """So many policyds, each a process, with the same policies."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                serving(api, [sources], folder / f"policyd-{number}.log", **settings)
            )
            for number in range(count)
        ]

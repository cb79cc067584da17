"""No client brings the server over its memory, whatever it sends or does not read.

The figures are those of ``deploy/base`` scaled by an eighth: 512 MiB for a Pod, of which some 100
are the server's own. What is measured is the highest resident memory over that of the start.
"""

import json
import select
import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from policyd.config import Settings
from tests.builders.reviews import body
from tests.server.announcing import whole
from tests.server.process import Process, fake_server, trusting, write_sources

SCALE = 8
IN_FLIGHT = Settings().max_in_flight_bytes // SCALE
CONNECTIONS = Settings().max_connections // SCALE
BODY = Settings().max_body_bytes // SCALE
# 512 MiB less the server's own and what is mapped once: it does not grow with the scale.
ALLOWED = (512 - 100) * 2**20 // SCALE + 24 * 2**20
PATCH = 5_000_000


def connected(server: Process, stack: ExitStack, narrow: bool = False) -> ssl.SSLSocket:
    """A connection that is closed in the end."""
    raw = socket.socket()
    if narrow:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(300)
    raw.connect(("127.0.0.1", server.port))
    return stack.enter_context(trusting().wrap_socket(raw))


def large(size: int) -> bytes:
    """A review of ``size`` bytes in short strings, which decode to six times as much."""
    review = json.loads(body())
    review["request"]["object"]["data"] = ["abcdefghijkl"] * ((size - len(body()) - 20) // 15)
    return json.dumps(review, separators=(",", ":")).encode()


def send_all(sockets: list[ssl.SSLSocket], data: bytes) -> None:
    """Send the same on all of them, a piece on each in turn, as far as they take it."""
    places = dict.fromkeys(sockets, 0)
    for sock in sockets:
        sock.setblocking(False)
    while places:
        _, ready, _ = select.select([], list(places), [], 0.5)
        if not ready:
            return
        for sock in ready:
            piece = data[places[sock] : places[sock] + 65536]
            try:
                places[sock] += sock.send(piece)
            except ssl.SSLWantWriteError:
                continue
            except OSError:
                del places[sock]
                continue
            if places[sock] == len(data):
                del places[sock]


def pipeline(server: Process, stack: ExitStack) -> None:
    """Many requests on few connections, and no answer is read."""
    sockets = [connected(server, stack, narrow=True) for _ in range(8)]
    send_all(sockets, whole("/validate", body()) * 20_000)


def do_not_read(server: Process, stack: ExitStack) -> None:
    """Answers of 5 MB that nobody takes."""
    sockets = [connected(server, stack, narrow=True) for _ in range(40)]
    send_all(sockets, whole("/mutate", body()))
    for sock in sockets:
        sock.settimeout(300)
        with suppress(OSError):
            sock.recv(100)


def stall(server: Process, stack: ExitStack) -> None:
    """Bodies of which the end is missing."""
    sockets = [connected(server, stack) for _ in range(CONNECTIONS * 5 // 8)]
    send_all(sockets, whole("/validate", large(BODY))[:-10])


def stay(server: Process, stack: ExitStack) -> None:
    """Connections on which nothing is sent."""
    for _ in range(CONNECTIONS * 10):
        with suppress(OSError):
            connected(server, stack)


def send_much(server: Process, stack: ExitStack) -> None:
    """Large bodies at the same time."""
    sockets = [connected(server, stack) for _ in range(CONNECTIONS * 5 // 8)]
    for _ in range(2):
        send_all(sockets, whole("/validate", large(BODY)))


@pytest.mark.parametrize("attack", [pipeline, do_not_read, stall, stay, send_much])
def test_memory_is_bounded(tmp_path: Path, attack: Callable[[Process, ExitStack], None]) -> None:
    sources = write_sources(tmp_path / "sources", a=f"patch {PATCH}")
    settings = {
        "max_in_flight_bytes": str(IN_FLIGHT),
        "max_connections": str(CONNECTIONS),
        "max_body_bytes": str(BODY),
    }
    with fake_server(tmp_path, sources, **settings) as server, ExitStack() as stack:
        assert server.post("/mutate", body())[0] == 200
        start = server.resident()
        attack(server, stack)
        grown = server.resident("VmHWM") - start
        assert grown < ALLOWED
        assert server.get("/livez") == (200, "ok")
        print(f"{attack.__name__}: {grown >> 20} of {ALLOWED >> 20} MiB")

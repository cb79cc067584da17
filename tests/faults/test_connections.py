"""One client opens connections without end: it loses its own, and others keep theirs."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.builders.reviews import body
from tests.server.announcing import whole
from tests.server.process import Process, trusting
from tests.server.serve import DENY, serving, write_policy

MOST = 40
REQUEST = whole("/validate?timeout=10s", body())


def test_a_client_with_too_many_connections_loses_its_own(tmp_path: Path) -> None:
    """Idle ones, ones in the handshake, and ones that stall in a head or a body."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with (
        serving(tmp_path, policies, "--max-connections", str(MOST)) as server,
        ExitStack() as stack,
    ):
        kept = [opened(server, stack, "127.0.0.2") for _ in range(8)]
        for number in range(3 * MOST):
            if number % 4 == 0:
                raw = socket.create_connection(("127.0.0.1", server.port), 20, ("127.0.0.3", 0))
                stack.enter_context(raw)  # its handshake does not come
                continue
            with suppress(OSError):  # it may be the one that has no place
                greedy = opened(server, stack, "127.0.0.3")
                greedy.sendall((b"", b"POST /val", REQUEST[:-5])[number % 4 - 1])
        for sock in kept:
            answered(sock)
        for _ in range(4):  # new ones find a place
            opened(server, stack, "127.0.0.4")
        closed = server.metric('policyd_closed_connections_total{port="reviews",reason="room"}')
        full = server.metric('policyd_closed_connections_total{port="reviews",reason="full"}')
        assert closed + full >= 2 * MOST
        for sock in kept:
            answered(sock)
        assert server.get("/readyz") == (200, "ok")
        assert not server.lines("defect")


def opened(server: Process, stack: ExitStack, address: str) -> socket.socket:
    """A connection of this address on which a request was answered."""
    raw = socket.create_connection(("127.0.0.1", server.port), 20, (address, 0))
    stack.callback(raw.close)
    sock = stack.enter_context(trusting().wrap_socket(raw))
    answered(sock)
    return sock


def answered(sock: socket.socket) -> None:
    """One review."""
    sock.sendall(REQUEST)
    assert sock.recv(65536).startswith(b"HTTP/1.1 200")

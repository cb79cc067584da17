"""Many TLS connections take little each, whatever they do, and leave nothing behind.

``python -m tools.bench connections`` opens 2,000.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from policyd.http.limits import Peer
from policyd.server.network import connections
from policyd.server.network.connections import EXEMPT_AT, PortConnections
from tests.builders.reviews import body
from tests.server.announcing import whole
from tests.server.many import ManyConnections
from tests.server.process import Process, until
from tests.server.serve import DENY, command, write_policy

COUNT = 300  # the server gives memory back after every 256 that were closed
ROUNDS = 3
# The 2,000 of the benchmark take 59 KiB each when idle, 78 with a request of 4 KB under way.
ALLOWED_EACH = 120 * 1024
ALLOWED = 3 * 2**20
FLAGS = ("--max-in-flight", "1000")
FEW_FILES = ("sh", "-c", 'ulimit -S -n 64; exec "$@"', "sh")


def test_connections_take_little_and_give_it_back(tmp_path: Path) -> None:
    """Idle, slow and busy ones, more than the soft limit of open files, which policyd raises."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with Process([*FEW_FILES, *command(policies, *FLAGS)], tmp_path / "server.log") as server:
        request = whole("/validate?timeout=30s", body())
        many = ManyConnections(server)

        def used(count: int) -> int:
            """Memory of the server with that many connections, which have done all they can."""
            many.open(count)
            many.take_turns([request])
            many.send(request[:-10])
            until(lambda: many.busy() == count, "the requests")
            many.send(request[-10:])
            assert many.receive() == {200: count}
            many.send(request)
            assert set(many.receive()) <= {200, 503}
            assert many.counted() == count
            return server.resident()

        used(10)
        many.close()
        files, start = server.files(), server.resident()
        taken = used(COUNT) - start
        assert taken < COUNT * ALLOWED_EACH
        many.close()
        left = server.resident()
        assert left - start < taken / 2
        for _ in range(ROUNDS):
            used(COUNT)
            many.close()
        print(f"{taken / COUNT / 1024:.0f} KiB each, {(left - start) >> 10} KiB left")
        assert server.resident() - left < ALLOWED
        assert server.files() <= files + 2
        assert not server.lines("limit")
        assert not server.lines("defect")


class Open:
    """A connection of which only the client counts."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def check_timeouts(self, *_: object) -> None:
        """Never close."""


@pytest.mark.parametrize(("stay", "times"), [(False, 0), (True, 3)])
def test_connections_that_stay_are_exempt_from_garbage_collection(
    monkeypatch: pytest.MonkeyPatch, stay: bool, times: int
) -> None:
    """Thousands would stop every request for tens of milliseconds."""
    calls = 0

    def exempt() -> None:
        nonlocal calls
        calls += 1

    async def come() -> None:
        port = PortConnections()
        for _ in range(3 * EXEMPT_AT + 3):
            peer = port.make_place("192.0.2.1")
            assert peer is not None
            connection: Any = Open(peer)
            port.add(connection)
            if not stay:
                port.remove(connection, "client")

    monkeypatch.setattr(connections, "exempt", exempt)
    asyncio.run(come())
    assert calls == times

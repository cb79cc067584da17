"""What the server learns of a port on Hypercorn: that it ended by itself, who asked, and when."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import Any

import pytest

from policyd.config import resolve
from policyd.http.endpoints import ARRIVED, PEER
from policyd.http.messages import ASGIScope, Receive, Send, respond
from policyd.option_values import Address
from policyd.server.network import hypercorn_port
from policyd.server.network.connections import PortConnections
from policyd.server.network.hypercorn_port import HypercornPort
from policyd.server.network.listen import bound

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def nothing(scope: ASGIScope, receive: Receive, send: Send) -> None:
    """An app that answers."""
    if scope["type"] == "http":
        await respond(scope, send, 200, b"")


def opened(app: Any = nothing) -> tuple[HypercornPort, PortConnections, socket.socket, list[Any]]:
    failures: list[Any] = []
    listening, connections = bound(Address("127.0.0.1", 0)), PortConnections()
    port = HypercornPort(listening, connections, app, resolve({}, {}), failed=failures.append)
    return port, connections, listening, failures


def test_the_end_of_a_port_is_reported_unless_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: Any, shutdown_trigger: Callable[[], Awaitable[Any]], mode: str) -> None:
        raise OSError("no more")

    async def run(*, breaks: bool) -> list[str]:
        port, _, _, failures = opened()
        with monkeypatch.context() as patched:
            if breaks:
                patched.setattr(hypercorn_port, "serve", broken)
            port.start()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await port.stop()
        assert await port.finish(60)
        return [str(each) for each in failures]

    assert asyncio.run(run(breaks=True)) == ["no more"]
    assert asyncio.run(run(breaks=False)) == []


def test_requests_have_their_arrival_and_their_client() -> None:
    seen = []

    async def note(scope: ASGIScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = scope["state"][PEER]
            seen.append((scope["state"][ARRIVED], peer.address, peer))
            peer.requests += 1
            await respond(scope, send, 200, b"")
            peer.requests -= 1

    async def ask(address: tuple[str, int]) -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(REQUEST)
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()

    async def run() -> int:
        port, connections, listening, _ = opened(note)
        port.start()
        began, before = perf_counter_ns(), connections.last_request
        await ask(listening.getsockname())
        assert connections.last_request > before
        assert began < seen[0][0] < perf_counter_ns() and seen[0][1] == "127.0.0.1"
        await port.stop()
        await port.finish(60)
        return len(connections.peers)

    assert asyncio.run(run()) == 0

"""HTTP/1.1 without a socket: bytes in, requests and bytes out. And the same bytes as h11 reads them."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import h11

from policyd.http.limits import Peer
from policyd.http.messages import ASGIScope, Message, Receive, Send
from policyd.server.network.connections import CloseReason
from policyd.server.network.heads import HEAD_BYTES
from policyd.server.network.http1 import Http1


@dataclass(frozen=True)
class Heard:
    """A request as the app received it."""

    method: str
    target: bytes
    version: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass
class Outcome:
    """What became of the bytes of a connection."""

    heard: list[Heard] = field(default_factory=list)
    # Statuses of requests that the app never saw.
    malformed: list[int] = field(default_factory=list)
    written: bytes = b""
    ended: str = ""

    @property
    def statuses(self) -> list[int]:
        """The status of each response, 100 included."""
        rows = self.written.split(b"HTTP/1.1 ")[1:]
        return [int(row[:3]) for row in rows]


class FakeWire:
    """A connection whose client reads at once; it hands over one piece after the other."""

    def __init__(self, outcome: Outcome) -> None:
        self.peer = Peer("192.0.2.1")
        self.client = ("192.0.2.1", 1234)
        self.scheme = "https"
        self.is_full = False
        # Of what the protocol last said: that it reads, is busy, and waits for the rest of a head.
        self._reading = True
        self._busy = False
        self._in_head = False
        self._outcome = outcome

    def reads(self) -> bool:
        return self._reading

    def state(self) -> str:
        """What timeouts hold: idle, head or busy."""
        return "busy" if self._busy else "head" if self._in_head else "idle"

    def write(self, data: bytes | memoryview) -> None:
        self._outcome.written += data

    async def taken(self) -> None:
        """Nothing waits."""

    def becomes_busy(self) -> None:
        self._busy, self._in_head = True, False

    def becomes_idle(self) -> None:
        self._busy = False

    def head_begins(self) -> None:
        self._in_head = True

    def pause(self) -> None:
        self._reading = False

    def resume(self) -> None:
        self._reading = True

    def end(self, reason: CloseReason) -> None:
        self._outcome.ended = self._outcome.ended or reason

    def malformed(self, status: int) -> None:
        self._outcome.malformed.append(status)


async def turns(count: int = 20) -> None:
    """Let tasks run."""
    for _ in range(count):
        await asyncio.sleep(0)


async def hear(
    outcome: Outcome, answer: bytes, scope: ASGIScope, receive: Receive, send: Send
) -> None:
    """An app that reads a whole request and answers ``answer``."""
    body = b""
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        if not message["more_body"]:
            break
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers = tuple(scope["headers"])
    heard = Heard(scope["method"], target, scope["http_version"], headers, body)
    outcome.heard.append(heard)
    length = [(b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": answer})


def read(pieces: Iterable[bytes], app: Any = None, answer: bytes = b"ok") -> Outcome:
    """What policyd makes of the pieces, which arrive one after the other when it reads."""
    outcome = Outcome()

    async def listen(scope: ASGIScope, receive: Receive, send: Send) -> None:
        await hear(outcome, answer, scope, receive, send)

    async def run() -> None:
        wire = FakeWire(outcome)
        http = Http1(app or listen, wire)
        for piece in pieces:
            http.feed(piece)
            await turns()
            assert outcome.ended or wire.reads(), "nothing is read any more"
        http.lost()
        lost = asyncio.get_running_loop().create_future()
        lost.set_result(None)
        await http.run(lost)

    asyncio.run(run())
    return outcome


def read_by_h11(data: bytes) -> tuple[list[Heard], int]:
    """The same by h11: the whole requests, and the status of what it refused (0: nothing)."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
    connection.receive_data(data)
    heard: list[Heard] = []
    request, body = None, b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            return heard, error.error_status_hint
        if isinstance(event, h11.Request):
            request, body = event, b""
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            assert request is not None
            heard.append(
                Heard(
                    request.method.decode(),
                    request.target,
                    request.http_version.decode(),
                    tuple((name, value) for name, value in request.headers),
                    body,
                )
            )
            connection.send(h11.Response(status_code=405, headers=[("Content-Length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE:
                return heard, 0
            connection.start_next_cycle()
        else:
            return heard, 0


def comparable(heard: Heard) -> Heard:
    """Without what h11 writes in another way: it makes the only transfer coding lower case."""
    headers = tuple(
        (name, value.lower() if name == b"transfer-encoding" else value)
        for name, value in heard.headers
    )
    return Heard(heard.method, heard.target, heard.version, headers, heard.body)

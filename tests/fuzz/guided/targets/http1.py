"""HTTP/1.1: bytes into a connection of the server, which is only known as an asyncio protocol.

An input is what a client sends; it arrives in pieces that end at each NUL, which is not sent. The same
requests must reach the app whatever the pieces, each answered once with a well-formed response.
"""

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import h11

from policyd.server.network.connections import ConnectedPeer, PortConnections
from policyd.server.network.tcp import Connection
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget

LONGEST = 4_000
TURNS = 40  # of the loop: more than any answer needs
WORDS = (
    "GET / HTTP/1.1\r\n",
    "POST /validate HTTP/1.1\r\n",
    "HTTP/1.0",
    "HTTP/2.0",
    "Host: x\r\n",
    "\r\n\r\n",
    "\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "\n",
    "\r",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Expect: 100-continue\r\n",
    "Upgrade: websocket\r\n",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "5;a=b\r\n",
    "ffffffffffffffffff\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x00",
    "Content-Length: +5\r\n",
    "Content-Length: 5, 5\r\n",
    " folded\r\n",
    "X:\x0b\r\n",
    "\t",
    "OPTIONS * ",
    "HEAD ",
)
SEEDS = (
    "POST /validate?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "POST /mutate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n\x00{}",
    "GET / HTTP/1.0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n0\r\nX: y\r\n\r\nHEAD / HTTP/1.1\r\nHost: y\r\n\r\n",
)
SMUGGLED = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """What the app is given."""

    method: str
    path: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass
class Wire(asyncio.Transport):
    """The transport of a connection: keeps what is written."""

    connection: Connection
    written: bytearray = field(default_factory=bytearray)
    reading: bool = True
    closed: bool = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """What is written is taken at once."""

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def write(self, data: Any) -> None:
        assert not self.closed
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    abort = close


class App:
    """Reads each request to its end, and answers it."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message["body"]
            more = message["more_body"]
        headers = tuple((bytes(name), bytes(value)) for name, value in scope["headers"])
        self.requests.append(
            Request(scope["method"], scope["raw_path"] + scope["query_string"], headers, body)
        )
        length = [(b"content-length", b"%d" % len(ANSWER))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": ANSWER})


ANSWER = b"answer"


def check(data: bytes) -> None:
    pieces = data[:LONGEST].split(b"\x00")
    requests, written = served(pieces)
    answered(requests, written)
    whole = b"".join(pieces)
    for others in ([whole], [whole[at : at + 7] for at in range(0, len(whole), 7)]):
        again, rewritten = served(others)
        assert again == requests, "the requests depend on how the bytes arrive"
        # Whether a client that errs gets its last response, or an error instead, depends on time.
        assert statuses(rewritten)[:-1] == statuses(written)[:-1]
    framed(requests, whole)


@cache
def loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def served(pieces: list[bytes]) -> tuple[list[Request], bytes]:
    """The requests that the app was given, and what the client gets."""
    return loop().run_until_complete(_served(pieces))


_Wire = TypeVar("_Wire", bound=Wire)


def opened(wire: type[_Wire]) -> tuple[Connection, _Wire]:
    """A connection of a client, and the transport that it writes to."""
    peer = ConnectedPeer("192.0.2.1")
    connection = Connection(PortConnections(), peer, ("192.0.2.1", 1))
    peer.connections, peer.idle[connection] = 1, None
    made = wire(connection)
    connection.connection_made(made)
    return connection, made


async def _served(pieces: list[bytes]) -> tuple[list[Request], bytes]:
    app = App()
    connection, wire = opened(Wire)
    task = asyncio.create_task(connection.run(app))
    await settled()
    for piece in pieces:
        if piece and not wire.closed:
            connection.data_received(piece)
            await settled()
    connection.eof_received()
    connection.connection_lost(None)
    await task
    return app.requests, bytes(wire.written)


async def settled() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def answered(requests: list[Request], written: bytes) -> None:
    """A response for each request, in order; an error is the last one."""
    rest = written
    methods = [each.method for each in requests]
    found = 0
    while rest:
        head, mark, rest = rest.partition(b"\r\n\r\n")
        assert mark and head.startswith(b"HTTP/1.1 "), head
        status = int(head[9:12])
        if status == 100:
            continue
        names = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        method = methods[found] if found < len(methods) else ""
        found += 1
        length = int(names.get(b"content-length", b"0"))
        if method != "HEAD":
            assert len(rest) >= length
            rest = rest[length:]
        # Bytes after the last request may be an error before it is answered.
        assert (status == 200 and method) or (400 <= status <= 505 and not rest), status
    assert len(requests) <= found <= len(requests) + 1, (found, len(requests))


def statuses(written: bytes) -> list[bytes]:
    return [part[:4] for part in written.split(b"HTTP/1.1")[1:] if part[:4] != b" 100"]


def framed(requests: list[Request], whole: bytes) -> None:
    """Another parser finds the same requests, as far as it accepts the bytes: nothing is smuggled."""
    parser = h11.Connection(h11.SERVER)
    parser.receive_data(whole)
    for ours in requests:
        try:
            head = parser.next_event()
            body = b""
            while isinstance(event := parser.next_event(), h11.Data):
                body += event.data
        except h11.RemoteProtocolError:
            return
        if not isinstance(head, h11.Request) or not isinstance(event, h11.EndOfMessage):
            return
        assert (ours.method, ours.body) == (head.method.decode().upper(), body)
        if parser.our_state is h11.MUST_CLOSE or parser.their_state is not h11.DONE:
            return
        parser.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        parser.send(h11.EndOfMessage())
        if parser.our_state is not h11.DONE:
            return
        parser.start_next_cycle()


def seeds() -> list[bytes]:
    return [each.encode() for each in (*SEEDS, SMUGGLED)]


TARGET = FuzzTarget(check, seeds, mutating.text_mutation(WORDS))

"""HTTP/2: bytes into a connection of the server for which TLS negotiated it.

An input is the frames that a client sends after the preface (``frames.py``). Only whole requests reach
the app as such, as another reading of the frames finds them; each answer belongs to a request; floods end the
connection; and nothing of a stream is kept when it ends.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from hpack import Decoder
from hpack.exceptions import HPACKError

from policyd.server.network import http2
from policyd.server.network.http2_session import Http2Session
from policyd.server.network.tcp import Connection
from tests.fuzz.guided import frames
from tests.fuzz.guided.frames import END_HEADERS, END_STREAM, PADDED, PRIORITIZED, Frame, Kind
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import http1

LONGEST = 8_000
TURNS = 400  # of the loop: more than the end of all streams needs
LARGE = 100_000  # bytes of an answer that needs more than the first window
# Streams that a connection has at most: those that are open, and those whose end is being handled.
STREAMS = 100 + http2.RESETS + 10
TABLE = 4096  # bytes of HPACK's table of the server's own header fields


class App(http1.App):
    """Answers ``/early`` before the body, and ``/large`` with much; others as those of HTTP/1.1."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.kinds.add(scope["type"])
        if scope["path"] == "/early":
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        elif scope["path"] == "/large":
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": bytes(LARGE)})
        else:
            await super().__call__(scope, receive, send)


class Negotiated:
    """What TLS agreed on."""

    def selected_alpn_protocol(self) -> str:
        return "h2"


@dataclass
class Wire(http1.Wire):
    """The transport of a connection over TLS."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return Negotiated() if name == "ssl_object" else default


@dataclass
class Served:
    """What became of a connection."""

    app: App
    written: bytes
    reason: str
    kept: list[int] = field(default_factory=list)


class Errors(logging.Handler):
    """Keeps what Hypercorn logs: exceptions of the app, or of what it calls."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


def check(data: bytes) -> None:
    pieces = frames.sent(data[:LONGEST])
    slow = served(pieces)
    answered(slow, whole_requests(pieces))
    limited(slow, pieces)
    fast = served([b"".join(pieces)])
    answered(fast, whole_requests(pieces))
    # What comes after a request, in the same bytes, may end it before it reaches the app.
    for request in fast.app.requests:
        assert request in slow.app.requests, "the requests depend on how the bytes arrive"


def served(pieces: list[bytes]) -> Served:
    errors = Errors()
    logger = logging.getLogger("hypercorn.error")
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(errors)
    try:
        found = http1.loop().run_until_complete(_served(pieces))
    finally:
        logger.removeHandler(errors)
        logger.propagate = propagated
    assert not errors.records, errors.records[0]
    return found


async def _served(pieces: list[bytes]) -> Served:
    app = App()
    connection, wire = http1.opened(Wire)
    sessions: list[Http2Session] = []

    def session(of: Connection) -> Http2Session:
        sessions.append(Http2Session(app, of))
        return sessions[0]

    task = asyncio.create_task(connection.run(app, session))
    await http1.settled()
    kept: list[int] = []
    batch: list[bytes] = []
    for number, piece in enumerate(pieces):
        batch.append(piece)
        # Of a flood not each frame by itself: it takes seconds otherwise.
        if len(pieces) > 100 and number % 50 and number + 1 < len(pieces):
            continue
        if not wire.closed:
            connection.data_received(b"".join(batch))
            await http1.settled()
            if not task.done():
                kept.append(_streams(sessions[0], connection))
        batch.clear()
    connection.eof_received()
    connection.connection_lost(None)
    for _ in range(TURNS):
        if task.done():
            break
        await asyncio.sleep(0)
    assert task.done(), "the connection has ended, but not its task"
    await task
    return Served(app, bytes(wire.written), connection.reason, kept)


def _streams(session: Http2Session, connection: Connection) -> int:
    """How many streams the parts of a connection know; nothing else in them may grow."""
    protocol = session._protocol
    assert protocol.connection.encoder.header_table_size <= TABLE, "a table of the client's size"
    idle = connection._idle_since is not None
    assert idle or protocol.streams, "a connection without requests has no end"
    return max(len(protocol.streams), len(protocol.stream_buffers), len(protocol.priority._streams))


def answered(found: Served, whole: dict[int, http1.Request]) -> None:
    """The app got whole requests only, and each stream has at most one answer, which is well-formed."""
    assert found.app.kinds <= {"http"}
    for request in found.app.requests:
        assert any(_same(request, each) for each in whole.values()), request
    statuses, decoder = {}, Decoder()
    decoder.max_allowed_table_size = 2**32  # what a client's settings may allow
    for frame in frames.split(found.written):
        if frame.kind == Kind.HEADERS:
            fields = dict(decoder.decode(frame.payload, raw=True))
            assert frame.stream not in statuses, "a stream has two answers"
            statuses[frame.stream] = int(fields[b":status"])
    assert set(statuses.values()) <= {200, 413}
    right = [stream for stream, status in statuses.items() if status == 200]
    assert all(stream in whole for stream in right), "an answer to a part of a request"
    assert max(found.kept, default=0) <= STREAMS, found.kept


def _same(ours: http1.Request, theirs: http1.Request) -> bool:
    return (ours.method, ours.path, ours.body) == (theirs.method, theirs.path, theirs.body)


def limited(found: Served, pieces: list[bytes]) -> None:
    """More frames that carry nothing than are free end the connection."""
    listed = [*frames.split(b"".join(pieces[1:]))]
    idle = sum(each.kind != Kind.DATA for each in listed)
    crumbs = sum(each.kind == Kind.DATA and len(each.payload) < 9 for each in listed)
    earned = len(found.app.requests) * 200 + found.written.count(bytes(1024)) * 10
    if idle > http2.FREE_FRAMES + earned or crumbs > 1_200 + earned:
        assert found.reason != "client", f"{idle} frames for nothing, {crumbs} crumbs"


def whole_requests(pieces: list[bytes]) -> dict[int, http1.Request]:
    """The requests with a head and an end, by stream, read leniently: what is wrong ends the reading."""
    heads: dict[int, dict[bytes, bytes]] = {}
    bodies: dict[int, bytes] = {}
    whole: dict[int, http1.Request] = {}
    decoder = Decoder()
    begun: Frame | None = None
    for frame in frames.split(b"".join(pieces[1:])):
        stream = frame.stream & 0x7FFF_FFFF
        if frame.kind == Kind.CONTINUATION and begun is not None:
            begun = begun._replace(
                payload=begun.payload + frame.payload, flags=begun.flags | frame.flags & END_HEADERS
            )
        elif frame.kind == Kind.HEADERS:
            begun = frame._replace(stream=stream, payload=_content(frame))
        elif frame.kind == Kind.DATA:
            bodies[stream] = bodies.get(stream, b"") + _content(frame)
            if frame.flags & END_STREAM and stream in heads:
                whole.setdefault(stream, _request(heads[stream], bodies[stream]))
        if begun is None or not begun.flags & END_HEADERS:
            continue
        try:
            fields = dict(decoder.decode(begun.payload, raw=True))
        except HPACKError:
            break
        heads.setdefault(begun.stream, fields)
        if begun.flags & END_STREAM:
            body = bodies.get(begun.stream, b"")
            whole.setdefault(begun.stream, _request(heads[begun.stream], body))
        begun = None
    return whole


def _content(frame: Frame) -> bytes:
    payload = frame.payload
    padding = payload[0] if frame.flags & PADDED and payload else 0
    start = (1 if frame.flags & PADDED else 0) + (
        5 if frame.kind == Kind.HEADERS and frame.flags & PRIORITIZED else 0
    )
    return payload[start : len(payload) - padding]


def _request(head: dict[bytes, bytes], body: bytes) -> http1.Request:
    path, _, query = head.get(b":path", b"").partition(b"?")
    method = head.get(b":method", b"").decode("latin-1").upper()
    return http1.Request(method, path + query, (), body)


def asked(stream: int, *more: tuple[str, str], flags: int = END_HEADERS, path: str = "") -> Frame:
    fields = [(name, path if path and name == ":path" else value) for name, value in frames.POST]
    return Frame(Kind.HEADERS, flags, stream, frames.block(*fields, *more))


SETTINGS = Frame(Kind.SETTINGS, 0, 0)
WORDS = (
    *(asked(1), asked(3, flags=END_HEADERS | END_STREAM), asked(5, path="/early")),
    *(asked(7, ("content-length", "5")), asked(9, path="/large"), asked(1, flags=0)),
    *(Frame(Kind.DATA, END_STREAM, 1, b"hello"), Frame(Kind.DATA, 0, 1, b"{")),
    *(Frame(Kind.DATA, PADDED, 3, b"\x02{}\x00\x00"), Frame(Kind.DATA, 0, 5, b"")),
    *(SETTINGS, Frame(Kind.SETTINGS, 0, 0, bytes((0, 1, 255, 255, 255, 255)))),
    *(Frame(Kind.SETTINGS, 0, 0, bytes((0, 4, 0, 0, 0, 1))), Frame(Kind.SETTINGS, 1, 0)),
    *(
        Frame(Kind.SETTINGS, 0, 0, bytes((0, 5, 0, 255, 255, 255))),
        Frame(Kind.PING, 0, 0, bytes(8)),
    ),
    *(Frame(Kind.RST_STREAM, 0, 1, bytes((0, 0, 0, 8))), Frame(Kind.GOAWAY, 0, 0, bytes(8))),
    *(Frame(Kind.WINDOW_UPDATE, 0, 0, bytes((0, 1, 0, 0))), Frame(Kind.ALTSVC, 0, 0, bytes(2))),
    *(Frame(Kind.WINDOW_UPDATE, 0, 9, bytes((0, 0, 0, 9))), Frame(77, 0, 0)),
    *(Frame(Kind.PRIORITY, 0, 1, bytes((0, 0, 0, 3, 9))), Frame(Kind.PRIORITY, 0, 5, bytes(5))),
    *(Frame(Kind.PRIORITY, 0, 3, bytes((128, 0, 0, 1, 9))), Frame(Kind.CONTINUATION, 4, 1)),
    *(Frame(Kind.PUSH_PROMISE, 4, 1, bytes((0, 0, 0, 2))), frames.repeat(1100)),
)


def seeds() -> list[bytes]:
    hello = Frame(Kind.DATA, END_STREAM, 1, b"hello")
    head = asked(1)
    whole = [
        [SETTINGS, head, hello, asked(3, flags=END_HEADERS | END_STREAM)],
        [SETTINGS, asked(1, flags=0), Frame(Kind.CONTINUATION, END_HEADERS, 1), hello],
        [SETTINGS, head, Frame(Kind.DATA, 0, 1, b"he"), Frame(Kind.DATA, END_STREAM, 1, b"llo")],
        [SETTINGS, head, hello, Frame(Kind.RST_STREAM, 0, 1, bytes((0, 0, 0, 8)))],
        [SETTINGS, asked(1, path="/large"), Frame(Kind.WINDOW_UPDATE, 0, 1, b"\x00\x01\x00\x00")],
        [SETTINGS, asked(1, path="/early"), hello, Frame(Kind.DATA, 0, 1, b"more")],
        [
            SETTINGS,
            head,
            Frame(Kind.HEADERS, END_HEADERS | END_STREAM, 1, frames.block(("a", "b"))),
        ],
        *([SETTINGS, head, each] for each in WORDS),
    ]
    return [frames.joined(each) for each in whole]


TARGET = FuzzTarget(check, seeds, lambda data, chance: frames.mutated(data, chance, WORDS))

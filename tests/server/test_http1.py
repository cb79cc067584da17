"""HTTP/1.1 between bytes and the app: responses, bodies that arrive slowly, and apps that fail."""

import asyncio
from typing import Any

import pytest

from policyd.http.messages import ASGIScope, Receive, Send
from policyd.server.network.exchange import BEHIND_BYTES
from policyd.server.network.http1 import Http1
from tests.server.http1 import FakeWire, Outcome, read, turns

HOST = b"Host: x\r\n"
POST = b"POST / HTTP/1.1\r\n" + HOST
GET = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
OK = b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok"
CLOSING = OK.replace(b"2\r\n\r\n", b"2\r\nconnection: close\r\n\r\n")
FAILED = b"HTTP/1.1 500 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def sized(length: int) -> bytes:
    return POST + b"Content-Length: %d\r\n\r\n" % length


class Answer:
    """An app that sends the messages given, and reads nothing."""

    def __init__(self, *bodies: bytes, status: int = 200, **headers: str) -> None:
        self.bodies = bodies
        self.status = status
        self.headers = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        for number, body in enumerate(self.bodies):
            more = number + 1 < len(self.bodies)
            await send({"type": "http.response.body", "body": body, "more_body": more})


@pytest.mark.parametrize(
    ("data", "written", "ended"),
    [
        (GET + GET, OK + OK, ""),
        (GET.replace(b"1.1", b"1.0"), CLOSING, "answered"),
        (GET.replace(HOST, HOST + b"Connection: close\r\n") + GET, CLOSING, "answered"),
        (GET.replace(HOST, HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n"), CLOSING, "answered"),
        (b"CONNECT x:1 HTTP/1.1\r\n" + HOST + b"\r\n" + GET, CLOSING, "answered"),
        # Where it ended is known only to the parser.
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GET, CLOSING, "answered"),
        (GET.replace(b"GET", b"HEAD") + GET, OK[:-2] + OK, ""),
    ],
)
def test_responses_and_when_the_connection_closes(data: bytes, written: bytes, ended: str) -> None:
    outcome = read([data])
    assert (outcome.written, outcome.ended) == (written, ended)


def test_client_that_expects_100_gets_it_before_it_sends_the_body() -> None:
    head = POST + b"Content-Length: 3\r\nExpect: 100-Continue\r\n\r\n"
    assert read([head]).written == b"HTTP/1.1 100 \r\n\r\n"
    assert read([head, b"abc"]).written == b"HTTP/1.1 100 \r\n\r\n" + OK
    assert read([head.replace(b"1.1", b"1.0"), b"abc"]).written == CLOSING
    assert read([head.replace(b": 3", b": 0")]).written == OK


@pytest.mark.parametrize(
    ("app", "written", "again"),
    [
        (Answer(b"ab", b"c", content_length="3"), b"content-length: 3\r\n\r\nabc", True),
        (Answer(b"abc", b"", content_length="3"), b"content-length: 3\r\n\r\nabc", True),
        (Answer(b"abc"), b"connection: close\r\n\r\nabc", False),
        (Answer(b"", status=204), b"HTTP/1.1 204 \r\n\r\n", True),
        (
            Answer(b"", content_length="0", connection="close"),
            b"content-length: 0\r\nconnection: close\r\n\r\n",
            False,
        ),
    ],
)
def test_end_of_a_response_is_known_to_the_client(app: Answer, written: bytes, again: bool) -> None:
    outcome = read([GET], app)
    assert outcome.written.endswith(written)
    assert (outcome.ended == "") is again


def read_failing(app: Any) -> tuple[Outcome, list[str]]:
    """What a failing app's client gets, and what is reported."""
    reported = []

    async def run(scope: ASGIScope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(repr(context["exception"])))
        await app(scope, receive, send)

    return read([GET], run), reported


async def fail(scope: ASGIScope, receive: Receive, send: Send) -> None:
    raise KeyError("a defect")


@pytest.mark.parametrize(
    ("app", "written", "error"),
    [
        (fail, FAILED, "a defect"),
        (Answer(b"", x="a\r\ninjected: b"), FAILED, "a line break"),
        (Answer(b"", x="a\nb"), FAILED, "a line break"),
        (Answer(b"", x="a\rb"), FAILED, "a line break"),
        (Answer(b"abc", content_length="2"), FAILED, "a response of 2 bytes has 3"),
        (Answer(b"a", content_length="2"), FAILED, "a response of 2 bytes has 1"),
        (
            Answer(b"a", b"bc", content_length="2"),
            b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\na",
            "a response of 2 bytes has 3",
        ),
    ],
)
def test_app_that_fails_costs_its_connection(app: Any, written: bytes, error: str) -> None:
    outcome, reported = read_failing(app)
    assert (outcome.written, outcome.ended) == (written, "answered")
    assert [error in each for each in reported] == [True]


def test_app_without_a_response_is_a_failure() -> None:
    async def silent(scope: ASGIScope, receive: Receive, send: Send) -> None:
        pass

    assert read([GET + GET], silent).written == FAILED


def test_early_response_ends_the_connection_unless_the_body_is_complete() -> None:
    app = Answer(b"ok", content_length="2")
    assert (read([sized(3) + b"abc" + GET], app).written, read([sized(3), b"a"], app).written) == (
        OK + OK,
        OK,
    )
    assert read([sized(3), b"a"], app).ended == "answered"


class Slow:
    """An app that reads when it is told to."""

    def __init__(self) -> None:
        self.may_read = asyncio.Semaphore(0)
        self.messages: list[Any] = []

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        more = True
        while more:
            await self.may_read.acquire()
            self.messages.append(await receive())
            more = self.messages[-1].get("more_body", False)
        await Answer(b"ok", content_length="2")(scope, receive, send)


def test_no_more_is_read_than_the_app_takes() -> None:
    async def run() -> None:
        outcome, app = Outcome(), Slow()
        wire = FakeWire(outcome)
        http = Http1(app, wire)
        http.feed(sized(3 * BEHIND_BYTES))
        http.feed(b"a" * BEHIND_BYTES)
        assert wire.reads()
        http.feed(b"b")
        assert not wire.reads()
        app.may_read.release()
        await turns()
        assert wire.reads()
        assert app.messages[0]["body"] == b"a" * BEHIND_BYTES + b"b"
        http.feed(b"c" * (2 * BEHIND_BYTES - 1))
        http.feed(GET)
        assert not wire.reads()  # the next request waits until this one is answered
        app.may_read.release()
        await turns()
        assert outcome.written == OK
        assert wire.reads() and wire.state() == "busy"
        app.may_read.release()
        await turns()
        assert outcome.written == OK + OK
        assert wire.state() == "idle"

    asyncio.run(run())


def test_client_that_leaves_is_reported_to_the_app() -> None:
    async def run() -> None:
        outcome, app = Outcome(), Slow()
        http = Http1(app, FakeWire(outcome))
        http.feed(sized(3) + b"a")
        for _ in range(2):
            app.may_read.release()
        await turns()
        http.lost()
        await turns()
        kinds = [message["type"] for message in app.messages]
        assert kinds == ["http.request", "http.disconnect"]
        assert outcome.written == b""

    asyncio.run(run())


def test_head_is_timed_from_its_first_byte() -> None:
    async def run() -> None:
        wire = FakeWire(Outcome())
        http = Http1(Answer(b"ok", content_length="2"), wire)
        http.feed(GET[:5])
        assert wire.state() == "head"
        http.feed(GET[5:] + GET[:5])
        assert wire.state() == "busy"
        await turns()
        assert wire.state() == "head"  # the next one has begun

    asyncio.run(run())

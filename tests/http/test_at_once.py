"""Reviews that arrive as a whole are answered without a task: same answers, same counts, same limits."""

import asyncio
from typing import Any

import orjson
import pytest

from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.http.endpoints import AT_ONCE_BYTES, ReviewRequest, Reviews
from policyd.http.evaluators import ReviewCall, ReviewEvaluator
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight
from policyd.http.messages import ASGIScope, Receive, Send
from policyd.http.turns import TURN_NS
from policyd.policy.model.suite import Webhook
from policyd.server.network.http1 import Http1
from tests.builders.reviews import body
from tests.server.http1 import FakeWire, Outcome, turns


class Counting(Recorder):
    """Notes what is reported."""

    def __init__(self) -> None:
        self.events: list[tuple[str, ...]] = []

    def request(self, webhook: str, operation: str, result: str, nanoseconds: int) -> None:
        self.events.append(("request", webhook, operation, result))

    def phase(self, phase: str, nanoseconds: int) -> None:
        self.events.append(("phase", phase))

    def shed(self, reason: str) -> None:
        self.events.append(("shed", reason))

    def rejected(self, status: int, peer: str, path: str, reason: str) -> None:
        self.events.append(("rejected", str(status), reason))


class FakeEvaluator(ReviewEvaluator):
    """Answers all the same, after a turn of the loop if it waits."""

    def __init__(self, served: "Served", waiting: bool) -> None:
        self._served = served
        self._waiting = waiting

    def waits(self, webhook: Webhook) -> bool:
        return self._waiting

    def now(self, call: ReviewCall) -> AdmissionResponse:
        return self._served.evaluate(call.request)

    async def later(self, call: ReviewCall) -> AdmissionResponse:
        await asyncio.sleep(0)
        return self.now(call)


class Counted:
    """A review, of which is counted whether a task answers it."""

    def __init__(self, served: "Served", review: ReviewRequest) -> None:
        self._served = served
        self._review = review
        self.now = review.now

    async def later(self, receive: Receive, send: Send) -> None:
        self._served.tasks += 1
        await self._review.later(receive, send)


class Served:
    """The endpoint on a connection, and how it was called."""

    def __init__(self, *, at_once: bool = True, waits: bool = False, **limits: int) -> None:
        self.recorder, self.outcome, self.lifecycle = Counting(), Outcome(), Lifecycle()
        self.in_flight = InFlight(limits.get("requests", 10), limits.get("bytes", 10**6))
        self.message = "no"
        self.evaluated: list[str] = []
        self.tasks = 0
        self.reviews = Reviews(
            FakeEvaluator(self, waits),
            self.recorder,
            self.in_flight,
            self.lifecycle,
            timeout=limits.get("timeout", 10),
            max_body_bytes=limits.get("body", 10**5),
        )
        if at_once:
            self.begin = lambda scope: Counted(self, self.reviews.begin(scope, "validate", None))

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        await Counted(self, self.reviews.begin(scope, "validate", None)).later(receive, send)

    def evaluate(self, request: AdmissionRequest) -> AdmissionResponse:
        self.evaluated.append(request.uid)
        if request.uid == "defect":
            raise RuntimeError("a defect")
        return AdmissionResponse(request.uid, False, 403, "Forbidden", self.message)

    def feed(self, *pieces: bytes) -> Outcome:
        """Send the pieces on one connection; return what was written."""

        async def run() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, __: None)
            http = Http1(self, FakeWire(self.outcome))
            for piece in pieces:
                http.feed(piece)
                await turns()

        asyncio.run(run())
        return self.outcome


def post(content: bytes, query: str = "", more: str = "") -> bytes:
    head = f"POST /validate{query} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + more.encode() + b"\r\n" + content


def uid(name: str) -> bytes:
    return body(uid=name)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (post(uid("a")), 200),
        (post(uid("a"), "?timeout=3s"), 200),
        (post(uid("a"), more="Connection: close\r\n"), 200),
        (post(uid("a")) + post(uid("b")), 200),
        (post(uid("a"), "?timeout=never"), 400),
        (post(uid("a"), "?timeout=1ms"), 200),
        (post(uid("a"), more="Content-Encoding: gzip\r\n"), 415),
        (post(b"{"), 400),
        (post(b""), 400),
        (post(b" " * 200_000), 413),
        (post(uid("defect")), 500),
        (post(uid("a")).replace(b"POST", b"GET", 1), 405),
    ],
)
def test_answers_and_counts_are_those_of_the_app(request_bytes: bytes, status: int) -> None:
    now, later = Served(), Served(at_once=False)
    assert now.feed(request_bytes) == later.feed(request_bytes)
    assert now.outcome.statuses[0] == status
    assert now.recorder.events == later.recorder.events
    assert now.evaluated == later.evaluated
    assert (now.in_flight.requests, now.in_flight.bytes) == (0, 0)
    assert now.tasks == (0 if status == 200 else 1)


def test_a_chunked_body_is_limited_too() -> None:
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    content = uid("a")
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
    assert Served().feed(head + chunks).statuses == [200]
    assert Served(body=len(content) - 1).feed(head + chunks).statuses == [413]


def test_a_body_in_two_pieces_is_waited_for() -> None:
    served = Served()
    request = post(uid("a"))
    assert served.feed(request[:-5], request[-5:]).statuses == [200]
    assert served.tasks == 1


@pytest.mark.parametrize(
    "limits",
    [
        {"waits": True},
        {"requests": 1, "used": True},
        {"bytes": 1000},
    ],
)
def test_what_has_to_wait_or_is_refused_goes_to_the_app(limits: dict[str, Any]) -> None:
    used = limits.pop("used", False)
    served = Served(**limits)
    if used:
        served.in_flight.requests = 1
    served.feed(post(uid("a")))
    assert served.tasks == 1
    assert served.outcome.statuses == [503 if used else 200]


def test_a_draining_server_asks_for_another_connection() -> None:
    served = Served()
    served.lifecycle.draining = True
    assert b"connection: close" in served.feed(post(uid("a"))).written


def test_a_large_answer_is_evaluated_once_and_counted_until_it_is_read() -> None:
    class Unread(FakeWire):
        def write(self, data: bytes | memoryview) -> None:
            super().write(data)
            self.is_full = True
            sizes.append(served.in_flight.bytes)

    sizes: list[int] = []
    served = Served()
    served.message = "x" * AT_ONCE_BYTES

    async def run() -> None:
        Http1(served, Unread(served.outcome)).feed(post(uid("a")))
        await turns()

    asyncio.run(run())
    assert served.evaluated == ["a"]
    assert sizes[0] > AT_ONCE_BYTES
    assert served.in_flight.bytes == 0


def test_all_sockets_are_read_before_the_first_is_evaluated() -> None:
    served = Served()

    async def run() -> None:
        for name in ("a", "b"):
            Http1(served, FakeWire(served.outcome)).feed(post(uid(name)))
        assert not served.evaluated
        await turns()

    asyncio.run(run())
    assert served.evaluated == ["a", "b"]


def test_after_a_turn_the_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10**12]
    monkeypatch.setattr("policyd.http.turns.perf_counter_ns", lambda: now[0])
    served = Served()
    evaluate = served.evaluate

    def slow(request: AdmissionRequest) -> AdmissionResponse:
        now[0] += TURN_NS
        return evaluate(request)

    monkeypatch.setattr(served, "evaluate", slow)

    async def run() -> None:
        for name in ("a", "b", "c"):
            Http1(served, FakeWire(served.outcome)).feed(post(uid(name)))
        await turns()

    asyncio.run(run())
    assert served.evaluated == ["a", "b", "c"]
    assert served.tasks == 2


def test_nothing_is_written_to_a_client_that_left() -> None:
    served = Served()

    async def run() -> None:
        wire = FakeWire(served.outcome)
        http = Http1(served, wire)
        http.feed(post(uid("a")))
        http.lost()
        await turns()

    asyncio.run(run())
    assert served.outcome.written == b""
    assert served.in_flight.requests == 0


def test_the_answer_is_json() -> None:
    head, _, content = Served().feed(post(uid("a"))).written.partition(b"\r\n\r\n")
    assert b"\r\ncontent-type: application/json" in head
    assert orjson.loads(content)["response"]["uid"] == "a"

"""The ASGI endpoint for admission reviews: read the body within limits, evaluate it, respond.

Nothing here depends on what policies contain. Every problem with a request is a ReviewError with
its HTTP status.
"""

import asyncio
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from time import perf_counter_ns
from typing import Protocol
from urllib.parse import parse_qs

from policyd._core.json.sizes import decoded_bytes
from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.partial import MAX_DECODED_BYTES
from policyd.admission.recorder import Recorder, RequestResult, ShedReason
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode, encode
from policyd.errors import ReviewError
from policyd.http.evaluators import ReviewCall, ReviewEvaluator
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight, Peer, Reservation
from policyd.http.messages import (
    ASGIScope,
    Body,
    Deadlines,
    Disconnected,
    Receive,
    Send,
    path_of,
    peer_of,
    refuse,
    respond,
)
from policyd.http.turns import EvaluationTurns
from policyd.option_values import duration
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.model.suite import Webhook

# Keys of scope["state"], set by server/network: perf_counter_ns when the head of the request was
# read, and the Peer that sent it.
ARRIVED = "policyd.arrived"
PEER = "policyd.peer"
# A larger answer is not sent at once: its memory is reserved until the client has read it.
AT_ONCE_BYTES = 16 * 1024

# How much of a shed request's body is read before the answer, and for how long.
SKIP_BYTES = 64 * 1024
SKIP_NS = 100_000_000
_CHECKED = (b"content-length", b"content-encoding")


class ReviewSink(Protocol):
    """Records a request and its response without ever waiting: ``capture.Capture``."""

    def record(
        self,
        webhook: Webhook,
        request: AdmissionRequest,
        response: AdmissionResponse,
        size: int,
        reads: SeenReads | None,
    ) -> None: ...


@dataclass(eq=False, repr=False)
class Reviews:
    """The shared state of all requests to webhooks; one object for the whole server."""

    evaluator: ReviewEvaluator
    recorder: Recorder
    in_flight: InFlight
    lifecycle: Lifecycle
    _: KW_ONLY
    timeout: float
    max_body_bytes: int
    body_timeout: float = 5.0
    capture: ReviewSink | None = None

    def __post_init__(self) -> None:
        self.deadlines = Deadlines()
        self.turns = EvaluationTurns()
        self.body_ns = int(self.body_timeout * 1e9)

    def begin(
        self, scope: ASGIScope, webhook: Webhook, only: PolicyFilter | None
    ) -> "ReviewRequest":
        """Return the request that begins with this head: every review starts here."""
        return ReviewRequest(self, scope, webhook, only)


class ReviewRequest:
    """One request to a webhook, from its head to its response. A server that has the complete
    request may call ``now``; ``later`` does the rest.
    """

    __slots__ = (
        "_all",
        "_arrived",
        "_deadline",
        "_only",
        "_outcome",
        "_peer",
        "_refusal",
        "_scope",
        "_webhook",
    )

    def __init__(
        self, of: Reviews, scope: ASGIScope, webhook: Webhook, only: PolicyFilter | None
    ) -> None:
        self._all = of
        self._scope = scope
        self._webhook: Webhook = webhook
        self._only = only
        state = scope.get("state", {})
        self._peer: Peer = state.get(PEER) or of.in_flight.unknown_peer
        self._arrived: int = state.get(ARRIVED) or perf_counter_ns()
        self._deadline = self._arrived
        self._refusal: ReviewError | None = None
        # The unsent outcome of ``now``.
        self._outcome: bytes | Exception | None = None
        try:
            self._check()
            self._deadline += _allowance_ns(scope["query_string"], of.timeout)
        except ReviewError as error:
            self._refusal = error

    def now(self, data: bytes) -> bytes | None:
        """Return the answer to the review in this body; None if it must wait, is refused, or has a
        large answer: then call ``later``.
        """
        of = self._all
        if (
            self._refusal is not None
            or of.lifecycle.draining
            or len(data) > of.max_body_bytes
            or of.evaluator.waits(self._webhook)
            or not of.in_flight.has_room(self._peer, len(data) + _decoded(data))
            or not of.turns.take_if_open()
        ):
            return None
        try:
            call = self._decode(data)
            answer = self._encode(call, of.evaluator.now(call), len(data))
        except Exception as error:
            self._outcome = error
            return None
        if len(answer) > AT_ONCE_BYTES:
            self._outcome = answer
            return None
        return answer

    async def later(self, receive: Receive, send: Send) -> None:
        """Read the body, wait, evaluate and respond, unless ``now`` already did."""
        recorder, lifecycle = self._all.recorder, self._all.lifecycle
        body = Body(receive)
        try:
            if self._refusal is not None:
                raise self._refusal
            room = self._all.in_flight.enter(self._peer)
            if isinstance(room, str):
                await self._skip(body)
                raise self._shed(room)
            try:
                await self._read(body, room)
                answer = self._outcome or await self._evaluated(body.take_all(), room)
                if isinstance(answer, Exception):
                    raise answer
                # Count the response until the client has read it.
                room.keep(len(answer))
                await respond(self._scope, send, 200, answer, closing=lifecycle.draining)
            finally:
                room.leave()
        except ReviewError as error:
            result: RequestResult = "shed" if error.status == 503 else "bad_request"
            self._note(result, error.status, str(error))
            await refuse(self._scope, body, send, error, closing=lifecycle.draining)
        except Disconnected:
            self._note("bad_request", 0, "the client disconnected before its request was complete")
        except Exception:
            # A defect of policyd before any policy was evaluated: the server responds with status
            # 500, and the webhook's failurePolicy decides.
            recorder.request(self._webhook, "", "error", perf_counter_ns() - self._arrived)
            raise

    def _note(self, result: RequestResult, status: int, reason: str) -> None:
        """Report a request that was not evaluated."""
        recorder, scope = self._all.recorder, self._scope
        recorder.request(self._webhook, "", result, perf_counter_ns() - self._arrived)
        recorder.rejected(status, peer_of(scope), path_of(scope), reason)

    def _check(self) -> None:
        """Refuse requests whose head is not acceptable."""
        if self._scope["method"] != "POST":
            raise ReviewError("expected a POST request", 405)
        for name, value in self._scope["headers"]:
            if name not in _CHECKED:
                continue
            if name == b"content-length":
                if int(value) > self._all.max_body_bytes:
                    raise self._too_large()
            elif value.strip().lower() not in (b"", b"identity"):
                raise ReviewError("expected an AdmissionReview without Content-Encoding", 415)

    def _too_large(self) -> ReviewError:
        return ReviewError(
            f"the AdmissionReview is larger than {self._all.max_body_bytes} bytes", 413
        )

    def _shed(self, reason: ShedReason) -> ReviewError:
        self._all.recorder.shed(reason)
        if reason == "stalled":
            return ReviewError("the body was incomplete when other requests needed its memory", 503)
        if reason == "queue":
            return ReviewError(
                "too many requests are waiting to be evaluated in time; try again", 503
            )
        return ReviewError(f"too many {reason} in flight; try again", 503)

    async def _skip(self, body: Body) -> None:
        """Read and drop a small body that has probably arrived with its head: responding before the
        end of the body costs more than the rest of a shed request.
        """
        deadlines = self._all.deadlines
        task = deadlines.begin(perf_counter_ns() + SKIP_NS)
        try:
            while not body.complete and body.size < SKIP_BYTES:
                await body.take()
                body.take_all()
        except asyncio.CancelledError:
            if not deadlines.is_over(task):
                raise
        finally:
            deadlines.end(task)

    async def _read(self, body: Body, room: Reservation) -> None:
        """Read the whole body, until the deadline and within its limits."""
        deadlines = self._all.deadlines
        task = deadlines.begin(min(self._deadline, self._arrived + self._all.body_ns))
        room.wait(task)
        try:
            while not body.complete:
                await body.take()
                if body.size > self._all.max_body_bytes:
                    raise self._too_large()
                if not room.hold(body.size):
                    raise self._shed("bytes")
        except asyncio.CancelledError:
            if deadlines.is_over(task):
                error = ReviewError("the body did not arrive in time", 408)
            elif room.ended:
                task.uncancel()
                error = self._shed("stalled")
            else:
                raise
            body.abandon()
            raise error from None
        finally:
            deadlines.end(task)
            room.complete()

    async def _evaluated(self, data: bytes, room: Reservation) -> bytes:
        """Wait for the turn of the review, and return its answer."""
        of = self._all
        turn = of.turns.take(self._peer, self._deadline)
        if turn is False:
            raise self._shed("queue")
        if turn is not None:
            await turn
        # Not before its turn: unread answers may take the memory meanwhile.
        await self._make_room(room, data)
        call = self._decode(data)
        if of.evaluator.waits(self._webhook):
            response = await of.evaluator.later(call)
        else:
            response = of.evaluator.now(call)
        return self._encode(call, response, len(data))

    async def _make_room(self, room: Reservation, data: bytes) -> None:
        """Reserve the memory that decoding the body needs."""
        in_flight = self._all.in_flight
        ended = in_flight.ended
        # The body and the decoded objects, whose number is limited.
        if not room.hold(len(data) + _decoded(data)):
            raise self._shed("bytes")
        if in_flight.ended != ended:
            # Let the requests that lost their memory drop their bodies: the first turn cancels
            # them, in the second they react.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    def _decode(self, data: bytes) -> ReviewCall:
        recorder = self._all.recorder
        started = perf_counter_ns()
        recorder.phase("queue", started - self._arrived)
        request = decode(data)
        recorder.phase("decode", perf_counter_ns() - started)
        if started >= self._deadline:
            # Not evaluated: the engine responds at once, by the failurePolicy of each policy.
            recorder.shed("deadline")
        reads = None if self._all.capture is None else SeenReads()
        return ReviewCall(request, self._webhook, self._deadline, recorder, self._only, reads)

    def _encode(self, call: ReviewCall, response: AdmissionResponse, size: int) -> bytes:
        """Return the bytes of a response, and report the request, which had ``size`` bytes."""
        request = call.request
        recorder, webhook = self._all.recorder, self._webhook
        evaluated = perf_counter_ns()
        answer = encode(response)
        if self._all.capture is not None:
            self._all.capture.record(webhook, request, response, size, call.reads)
        ended = perf_counter_ns()
        recorder.phase("encode", ended - evaluated)
        recorder.request(webhook, request.operation, _result(response), ended - self._arrived)
        return answer


@lru_cache(maxsize=256)
def _allowance_ns(query: bytes, longest: float) -> int:
    """Nanoseconds from arrival to the deadline: the shorter timeout less 10 %, at least 20 ms."""
    seconds = longest
    timeouts = parse_qs(query.decode("latin-1")).get("timeout")
    if timeouts:
        try:
            seconds = min(longest, duration(timeouts[-1]))
        except ValueError as error:
            raise ReviewError(f"timeout: expected {error}, got {timeouts[-1][:80]!r}") from None
        if seconds <= 0:
            raise ReviewError(f"timeout: expected a duration above zero, got {timeouts[-1][:80]!r}")
    return max(0, int((seconds - max(0.1 * seconds, 0.020)) * 1e9))


def _decoded(data: bytes) -> int:
    """Return the most memory that decoding the body needs."""
    return min(MAX_DECODED_BYTES, decoded_bytes(data, MAX_DECODED_BYTES))


def _result(response: AdmissionResponse) -> RequestResult:
    if response.allowed:
        return "allowed"
    return "error" if response.code >= 500 else "denied"

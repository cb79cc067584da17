"""The ASGI endpoint for admission reviews: read the body within limits, evaluate it, respond.

Nothing here depends on what policies contain. Every problem with a request is a ReviewError with
its HTTP status.
"""

import asyncio
from collections.abc import Callable, Container, MutableMapping
from functools import lru_cache
from time import perf_counter_ns
from typing import Any, Protocol
from urllib.parse import parse_qs

from policyd._core.json.decoded_size import decoded_bytes
from policyd.admission.applicable import PolicyFilter
from policyd.admission.partial import MAX_DECODED_BYTES
from policyd.admission.recorder import Recorder, RequestResult, ShedReason
from policyd.admission.review import AdmissionRequest, AdmissionResponse, decode, encode
from policyd.errors import ReviewError
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight, Reservation
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
from policyd.policy.model.suite import Webhook

# Keys of scope["state"], set by http.py and tcp.py of server/network: perf_counter_ns when the head
# of the request was read, and the Peer that sent it.
ARRIVED = "policyd.arrived"
PEER = "policyd.peer"
# The same, set by ``at_once``: the answer that the app has to send, or the error that it has to
# respond with.
OUTCOME = "policyd.outcome"

# A larger answer is not sent at once: its memory is reserved until the client has read it.
AT_ONCE_BYTES = 16 * 1024

# How much of the body of a request that is shed is read before the answer, and for how long.
SKIP_BYTES = 64 * 1024
SKIP_NS = 100_000_000
_CHECKED = (b"content-length", b"content-encoding")


class Evaluated(Protocol):
    """What the endpoint itself needs to know of a set of policies."""

    @property
    def with_lookups(self) -> Container[str]:
        """The webhooks whose policies may have to wait for a lookup."""


class ReviewEvaluator(Protocol):
    """Evaluates one request against a policy set, synchronously: ``admission.engine.review``."""

    def __call__(
        self,
        policy_set: Any,
        request: AdmissionRequest,
        *,
        webhook: Webhook,
        deadline: int,
        recorder: Recorder,
        only: PolicyFilter | None = None,
    ) -> AdmissionResponse: ...


class AsyncReviewEvaluator(Protocol):
    """Evaluates one request and can wait for lookups in a cluster."""

    async def __call__(
        self,
        policy_set: Any,
        request: AdmissionRequest,
        *,
        webhook: Webhook,
        deadline: int,
        recorder: Recorder,
        only: PolicyFilter | None = None,
    ) -> AdmissionResponse: ...


class ReviewSink(Protocol):
    """Records a request and its response without ever waiting: ``capture.Capture``."""

    def record(
        self, webhook: Webhook, request: AdmissionRequest, response: AdmissionResponse, size: int
    ) -> None: ...


class Reviews:
    """Answers the requests to both webhooks; one object for the whole server."""

    def __init__(
        self,
        evaluate: ReviewEvaluator,
        policies: Callable[[], Evaluated],
        recorder: Recorder,
        in_flight: InFlight,
        lifecycle: Lifecycle,
        *,
        timeout: float,
        max_body_bytes: int,
        body_timeout: float = 5.0,
        evaluate_async: AsyncReviewEvaluator | None = None,
        capture: ReviewSink | None = None,
    ) -> None:
        self._evaluate = evaluate
        self._capture = capture
        self._evaluate_async = evaluate_async
        self._policies = policies
        self._recorder = recorder
        self._in_flight = in_flight
        self._lifecycle = lifecycle
        self._deadlines = Deadlines()
        self._turns = EvaluationTurns()
        self._timeout = timeout
        self._max_body_bytes = max_body_bytes
        self._body_ns = int(body_timeout * 1e9)

    async def __call__(
        self,
        scope: ASGIScope,
        receive: Receive,
        send: Send,
        webhook: Webhook,
        only: PolicyFilter | None,
    ) -> None:
        """Answer one request to a review path."""
        state = scope.get("state", {})
        arrived = state.get(ARRIVED) or perf_counter_ns()
        body = Body(receive)
        try:
            self._check(scope)
            deadline = arrived + _allowance_ns(scope["query_string"], self._timeout)
            room = self._in_flight.enter(state.get(PEER) or self._in_flight.unknown_peer)
            if isinstance(room, str):
                await self._skip(body)
                raise self._shed(room)
            try:
                await self._read(body, min(deadline, arrived + self._body_ns), room)
                answer = _answered(state)
                if answer is None:
                    data = body.take_all()
                    turn = self._turns.take(room.peer, deadline)
                    if turn is False:
                        raise self._shed("queue")
                    if turn is not None:
                        await turn
                    # Not before its turn: answers that nobody reads may take the memory meanwhile.
                    await self._make_room(room, data)
                    answer = await self._review(data, webhook, only, arrived, deadline)
                    del data
                # Count the response until the client has read it.
                room.keep(len(answer))
                await respond(scope, send, 200, answer, closing=self._lifecycle.draining)
            finally:
                room.leave()
        except ReviewError as error:
            result: RequestResult = "shed" if error.status == 503 else "bad_request"
            self._recorder.request(webhook, "", result, perf_counter_ns() - arrived)
            self._recorder.rejected(error.status, peer_of(scope), path_of(scope), str(error))
            await refuse(scope, body, send, error, closing=self._lifecycle.draining)
        except Disconnected:
            self._recorder.request(webhook, "", "bad_request", perf_counter_ns() - arrived)
            reason = "the client disconnected before its request was complete"
            self._recorder.rejected(0, peer_of(scope), path_of(scope), reason)
        except Exception:
            # A defect of policyd before any policy was evaluated: the server responds with status
            # 500, and the failurePolicy of the webhook decides.
            self._recorder.request(webhook, "", "error", perf_counter_ns() - arrived)
            raise

    def at_once(
        self,
        scope: ASGIScope,
        data: bytes,
        webhook: Webhook,
        only: PolicyFilter | None,
    ) -> bytes | None:
        """Return the answer to a review that arrived as a whole. None: call this object, because
        the review has to wait or is refused, or because of its OUTCOME.
        """
        state = scope["state"]
        arrived = state[ARRIVED]
        try:
            self._check(scope)
            deadline = arrived + _allowance_ns(scope["query_string"], self._timeout)
        except ReviewError:
            return None
        policies = self._policies()
        if (
            self._lifecycle.draining
            or len(data) > self._max_body_bytes
            or (self._evaluate_async is not None and webhook in policies.with_lookups)
            or not self._in_flight.has_room(state[PEER], len(data) + _decoded(data))
            or not self._turns.take_if_open()
        ):
            return None
        try:
            request = self._decode(data, arrived, deadline)
            response = self._evaluate(
                policies,
                request,
                webhook=webhook,
                deadline=deadline,
                recorder=self._recorder,
                only=only,
            )
            answer = self._encode(webhook, request, response, arrived, len(data))
        except Exception as error:
            state[OUTCOME] = error
            return None
        if len(answer) > AT_ONCE_BYTES:
            state[OUTCOME] = answer
            return None
        return answer

    def _check(self, scope: ASGIScope) -> None:
        """Refuse requests whose head is not acceptable."""
        if scope["method"] != "POST":
            raise ReviewError("expected a POST request", 405)
        for name, value in scope["headers"]:
            if name not in _CHECKED:
                continue
            if name == b"content-length":
                if int(value) > self._max_body_bytes:
                    raise self._too_large()
            elif value.strip().lower() not in (b"", b"identity"):
                raise ReviewError("expected an AdmissionReview without Content-Encoding", 415)

    def _too_large(self) -> ReviewError:
        return ReviewError(f"the AdmissionReview is larger than {self._max_body_bytes} bytes", 413)

    def _shed(self, reason: ShedReason) -> ReviewError:
        self._recorder.shed(reason)
        if reason == "stalled":
            return ReviewError("the body was incomplete when other requests needed its memory", 503)
        if reason == "queue":
            return ReviewError("too many requests wait to be evaluated in time; try again", 503)
        return ReviewError(f"too many {reason} in flight; try again", 503)

    async def _skip(self, body: Body) -> None:
        """Read and drop a small body that has probably arrived with its head: a response before the
        end of the body costs more than the rest of a request that is shed.
        """
        task = self._deadlines.begin(perf_counter_ns() + SKIP_NS)
        try:
            while not body.complete and body.size < SKIP_BYTES:
                await body.take()
                body.take_all()
        except asyncio.CancelledError:
            if not self._deadlines.is_over(task):
                raise
        finally:
            self._deadlines.end(task)

    async def _read(self, body: Body, deadline: int, room: Reservation) -> None:
        """Read the whole body, until the deadline and within its limits."""
        task = self._deadlines.begin(deadline)
        room.wait(task)
        try:
            while not body.complete:
                await body.take()
                if body.size > self._max_body_bytes:
                    raise self._too_large()
                if not room.hold(body.size):
                    raise self._shed("bytes")
        except asyncio.CancelledError:
            if self._deadlines.is_over(task):
                error = ReviewError("the body did not arrive in time", 408)
            elif room.ended:
                task.uncancel()
                error = self._shed("stalled")
            else:
                raise
            body.abandon()
            raise error from None
        finally:
            self._deadlines.end(task)
            room.complete()

    async def _make_room(self, room: Reservation, data: bytes) -> None:
        """Reserve the memory that decoding the body needs."""
        ended = self._in_flight.ended
        # The body, and the objects that it is decoded to, of which there is a maximum.
        if not room.hold(len(data) + _decoded(data)):
            raise self._shed("bytes")
        if self._in_flight.ended != ended:
            # Let the requests that lost their memory drop their bodies: the first turn cancels
            # them, in the second they react.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def _review(
        self,
        data: bytes,
        webhook: Webhook,
        only: PolicyFilter | None,
        arrived: int,
        deadline: int,
    ) -> bytes:
        """Evaluate the bytes of a review; return the bytes of its response."""
        recorder = self._recorder
        request = self._decode(data, arrived, deadline)
        policies = self._policies()
        if self._evaluate_async is not None and webhook in policies.with_lookups:
            response = await self._evaluate_async(
                policies, request, webhook=webhook, deadline=deadline, recorder=recorder, only=only
            )
        else:
            response = self._evaluate(
                policies, request, webhook=webhook, deadline=deadline, recorder=recorder, only=only
            )
        return self._encode(webhook, request, response, arrived, len(data))

    def _decode(self, data: bytes, arrived: int, deadline: int) -> AdmissionRequest:
        recorder = self._recorder
        started = perf_counter_ns()
        recorder.phase("queue", started - arrived)
        request = decode(data)
        recorder.phase("decode", perf_counter_ns() - started)
        if started >= deadline:
            # Not evaluated: the engine responds at once, by the failurePolicy of each policy.
            recorder.shed("deadline")
        return request

    def _encode(
        self,
        webhook: Webhook,
        request: AdmissionRequest,
        response: AdmissionResponse,
        arrived: int,
        size: int,
    ) -> bytes:
        """Return the bytes of a response, and report the request, which had ``size`` bytes."""
        evaluated = perf_counter_ns()
        answer = encode(response)
        if self._capture is not None:
            self._capture.record(webhook, request, response, size)
        ended = perf_counter_ns()
        self._recorder.phase("encode", ended - evaluated)
        self._recorder.request(webhook, request.operation, _result(response), ended - arrived)
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


def _answered(state: MutableMapping[str, Any]) -> bytes | None:
    """Return the answer that ``at_once`` left, or raise its error; None if there is neither."""
    outcome: bytes | Exception | None = state.pop(OUTCOME, None)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _decoded(data: bytes) -> int:
    """Return the memory that decoding the body needs, at most."""
    return min(MAX_DECODED_BYTES, decoded_bytes(data, MAX_DECODED_BYTES))


def _result(response: AdmissionResponse) -> RequestResult:
    if response.allowed:
        return "allowed"
    return "error" if response.code >= 500 else "denied"

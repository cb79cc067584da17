"""Decides which requests are traced; its wrappers give a traced request its record.

The API server sends ``traceparent`` to webhooks if its own tracing is on: its sampled flag then
decides, as with any parent-based sampler. Nothing here can fail a request: an unreadable header
counts as missing.
"""

import secrets
import sys
import time
from collections.abc import Iterable

from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    SpanContext,
    SpanKind,
    TraceFlags,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.bounded_text import bounded
from policyd.http.evaluators import ReviewCall, ReviewEvaluator
from policyd.http.messages import ASGIScope, Message, Receive, Send, path_of, peer_of
from policyd.observability.logs import Log
from policyd.observability.recording import unfailing
from policyd.observability.throttle import Throttle
from policyd.observability.tracing.export import Export, exporter_to
from policyd.observability.tracing.record import CURRENT, MOST_CHARS, RequestTrace, TracingRecorder
from policyd.observability.tracing.spans import SpanMaker
from policyd.observability.tracing.wrappers import ASGIApp, Tracing
from policyd.policy.model.suite import Webhook

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
# HTTP methods in the name of a span; the endpoints serve POST only.
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT")
# Seconds between log lines about lost traces.
_LINES_SECONDS = 60.0
# The longest time for the last export. --grace may end the process earlier.
_FLUSH_SECONDS = 3.0


class TracedRequests(Tracing):
    """Traces the requests to the review port. ``ratio`` is the share of requests without
    ``traceparent`` to sample; None: none.
    """

    def __init__(self, endpoint: str, ratio: float | None, log: Log) -> None:
        self.recorder: TracingRecorder
        super().__init__(TracingRecorder(log))
        self.errors = log.errors
        self._log = log
        self._lines = Throttle(_LINES_SECONDS)
        self._endpoint = endpoint
        self._sampler = ParentBased(ALWAYS_OFF if ratio is None else TraceIdRatioBased(ratio))
        self._propagator = TraceContextTextMapPropagator()
        exporter = exporter_to(endpoint)
        spans = SpanMaker().spans
        self._export = Export(exporter, spans, self.recorder.traces, self._lost)
        log.write("info", "tracing", "requests are traced", endpoint=endpoint, ratio=ratio)

    def app(self, app: ASGIApp) -> ASGIApp:
        """``app`` with a trace of each sampled request over TLS."""

        async def traced(scope: ASGIScope, receive: Receive, send: Send) -> None:
            secure = scope["type"] == "http" and scope["scheme"] == "https"
            record = self.sampled(scope) if secure else None
            if record is None:
                await app(scope, receive, send)
            else:
                await self._traced(app, record, scope, receive, send)

        return traced

    def evaluator(self, evaluator: ReviewEvaluator) -> ReviewEvaluator:
        """``evaluator``, whose requests and responses are recorded."""
        return _TracedEvaluator(self, evaluator)

    @unfailing("traces")
    def asked(self, record: RequestTrace, request: AdmissionRequest) -> None:
        """Record a request."""
        record.asked(request)

    @unfailing("traces")
    def answered(self, record: RequestTrace, response: AdmissionResponse) -> None:
        """Record a response."""
        record.answered(response)

    def close(self) -> None:
        """Export the queue, for a limited time, when the server stops."""
        left = self._export.close(_FLUSH_SECONDS)
        if left:
            message = "the server stopped before these traces were exported"
            self._log.write("warning", "tracing", message, lost=left)

    @unfailing("traces")
    def sampled(self, scope: ASGIScope) -> RequestTrace | None:
        """A record if the request is sampled."""
        parent = None
        carrier = trace_headers(scope["headers"])
        if carrier:
            context = self._propagator.extract(carrier)
            parent = get_current_span(context).get_span_context()
            parent = parent if parent.is_valid else None
        else:
            context = None
        trace_id = secrets.randbits(128) or 1 if parent is None else parent.trace_id
        method = scope["method"]
        decided = self._sampler.should_sample(context, trace_id, method, SpanKind.SERVER)
        if decided.decision is not Decision.RECORD_AND_SAMPLE:
            return None
        own = SpanContext(
            trace_id,
            secrets.randbits(64) or 1,
            is_remote=False,
            trace_flags=_SAMPLED,
            trace_state=decided.trace_state,
        )
        return RequestTrace(
            own, parent, method if method in _METHODS else "HTTP", route_of(scope["path"])
        )

    async def _traced(
        self, app: ASGIApp, record: RequestTrace, scope: ASGIScope, receive: Receive, send: Send
    ) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
            await send(message)

        token = CURRENT.set(record)
        try:
            await app(scope, receive, sending)
        finally:
            CURRENT.reset(token)
            record.ended = time.perf_counter_ns()
            self._ended(record, scope, sys.exception())

    @unfailing("traces")
    def _ended(self, record: RequestTrace, scope: ASGIScope, error: BaseException | None) -> None:
        if error is not None:
            # Not its message, which may quote the object.
            record.error = type(error).__qualname__
        record.attributes |= {
            "url.scheme": "https",
            "url.path": path_of(scope),
            "network.protocol.name": "http",
            "network.protocol.version": scope["http_version"],
            "client.address": peer_of(scope),
        }
        agents = (value for name, value in scope["headers"] if name == b"user-agent")
        agent = next(agents, b"")
        if agent:
            record.attributes["user_agent.original"] = bounded(agent.decode("latin-1"), MOST_CHARS)
        self._export.add(record)

    def _lost(self, why: str, count: int) -> None:
        """Log that traces are lost, once a minute for each kind of reason."""
        kind = why.partition(":")[0]
        times = self._lines.count(kind)
        if times:
            self._log.write(
                "warning",
                "tracing",
                f"traces are lost: {why}",
                endpoint=self._endpoint,
                lost=count,
                suppressed=times - 1 or None,
            )


class _TracedEvaluator(ReviewEvaluator):
    """Records the evaluation of another evaluator, if the request is sampled."""

    def __init__(self, requests: TracedRequests, inner: ReviewEvaluator) -> None:
        self._requests = requests
        self._inner = inner

    def waits(self, webhook: Webhook) -> bool:
        """Whether a call may have to wait."""
        return self._inner.waits(webhook)

    def now(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call without waiting."""
        record = CURRENT.get()
        if record is None:
            return self._inner.now(call)
        self._requests.asked(record, call.request)
        response = self._inner.now(call)
        self._requests.answered(record, response)
        return response

    async def later(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call, and wait for its lookups."""
        record = CURRENT.get()
        if record is None:
            return await self._inner.later(call)
        self._requests.asked(record, call.request)
        response = await self._inner.later(call)
        self._requests.answered(record, response)
        return response


def trace_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """``traceparent`` and ``tracestate``; empty without exactly one traceparent."""
    parents = [value for name, value in headers if name == b"traceparent"]
    if len(parents) != 1:
        return {}
    states = [value for name, value in headers if name == b"tracestate"]
    found = {"traceparent": parents[0].decode("latin-1")}
    if states:
        found["tracestate"] = b",".join(states).decode("latin-1")
    return found


def route_of(path: str) -> str:
    """The pattern of a path that may be served, with few values; empty for others."""
    webhook, _, rest = path[1:].partition("/")
    if webhook == "policies":
        return path if rest == "validate" else ""
    if webhook not in ("validate", "mutate"):
        return ""
    if rest.startswith("policy/"):
        return f"/{webhook}/policy/{{name}}"
    return path if rest in ("fail", "ignore") or path == f"/{webhook}" else ""

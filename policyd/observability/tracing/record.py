"""The record of a traced request: plain values, with times of ``perf_counter_ns``.

Never contents of objects, messages of policies, names of users or their extra: readers of traces
may have no permission to read objects.
"""

import time
from contextvars import ContextVar
from typing import Any, NamedTuple

from policyd.admission.recorder import (
    LookupKind,
    LookupResult,
    Phase,
    PolicyEvent,
    RequestResult,
    ShedReason,
)
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.bounded_text import bounded, encodable
from policyd.observability.logs import Log
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.observability.recording import unfailing

# The limit for one request: what exceeds it is counted.
MOST_EVENTS = 64
# Strings that clients choose.
MOST_CHARS = 256

# The outcome of a traced request: dropped if the queue was full, failed if the collector did not
# accept it.
OUTCOMES = ("exported", "dropped", "failed")

SpanAttributes = dict[str, str | int | bool | list[str]]


class Interval(NamedTuple):
    """A phase or a lookup. ``attributes`` are its span's."""

    name: str
    began: int
    ended: int
    attributes: SpanAttributes


class TraceEvent(NamedTuple):
    """Something that happened at a moment."""

    name: str
    at: int
    attributes: SpanAttributes


class RequestTrace:
    """One traced request. ``context`` and ``parent`` are span contexts of OpenTelemetry."""

    __slots__ = (
        "attributes", "began", "clock_offset", "context", "denying", "dropped", "ended", "error",
        "events", "intervals", "method", "parent", "route", "status", "waited",
    )  # fmt: skip

    def __init__(self, context: Any, parent: Any, method: str, route: str) -> None:
        self.context = context
        self.parent = parent
        self.method = method
        self.route = route
        self.attributes: SpanAttributes = {}
        self.intervals: list[Interval] = []
        self.events: list[TraceEvent] = []
        # In the order in which they denied.
        self.denying: dict[str, None] = {}
        self.dropped = 0
        self.status = 0
        self.error = ""
        self.waited = False
        self.began = time.perf_counter_ns()
        # Add it to a time here to get nanoseconds of Unix time.
        self.clock_offset = time.time_ns() - self.began
        self.ended = self.began

    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """A phase ended now. ``lookup`` is a sum of waits: its lookups have separate spans."""
        if phase == "lookup":
            return
        ended = time.perf_counter_ns()
        began = ended - nanoseconds
        if self.waited and self.intervals:
            # ``nanoseconds`` excludes waiting: the phase began when the previous one ended.
            phases = (each.ended for each in self.intervals if each.name.startswith("policyd."))
            began = min(began, max(phases, default=began))
        name = "receive" if phase == "queue" else phase
        self.intervals.append(Interval(f"policyd.{name}", began, ended, {}))

    def lookup(self, what: LookupKind, result: LookupResult, nanoseconds: int) -> None:
        """A lookup in the cluster ended now."""
        self.waited = True
        if len(self.intervals) >= MOST_EVENTS:
            self.dropped += 1
            return
        ended = time.perf_counter_ns()
        values: SpanAttributes = {"policyd.lookup.kind": what, "policyd.lookup.result": result}
        self.intervals.append(Interval(f"lookup {what}", ended - nanoseconds, ended, values))

    def event(self, name: str, attributes: SpanAttributes) -> None:
        """Something happened now."""
        if len(self.events) >= MOST_EVENTS:
            self.dropped += 1
        else:
            self.events.append(TraceEvent(name, time.perf_counter_ns(), attributes))

    def asked(self, request: AdmissionRequest) -> None:
        """The request is known."""
        group, version, kind = request.kind
        self.attributes |= {
            "policyd.request.uid": _string(request.uid),
            "policyd.request.kind": _string("/".join(filter(None, (group, version, kind)))),
            "policyd.request.namespace": _string(request.namespace),
            "policyd.request.operation": _string(request.operation),
        }

    def answered(self, response: AdmissionResponse) -> None:
        """The response is known."""
        self.attributes["policyd.response.allowed"] = response.allowed
        if not response.allowed:
            self.attributes["policyd.response.code"] = response.code


# The record of the request that the current task answers; None if it is not traced.
CURRENT: ContextVar[RequestTrace | None] = ContextVar("policyd.trace", default=None)


class TracingRecorder(PrometheusRecorder):
    """Also records the events of traced requests."""

    def __init__(self, log: Log | None = None) -> None:
        super().__init__(log)
        self.traces = dict.fromkeys(OUTCOMES, 0)

    @unfailing("traces")
    def request(
        self, webhook: str, operation: str, result: RequestResult, nanoseconds: int
    ) -> None:
        """A request was answered."""
        super().request(webhook, operation, result, nanoseconds)
        record = CURRENT.get()
        if record is not None:
            record.attributes |= {"policyd.webhook": webhook, "policyd.result": result}

    @unfailing("traces")
    def phase(self, phase: Phase, nanoseconds: int) -> None:
        """One phase of a request ended."""
        super().phase(phase, nanoseconds)
        record = CURRENT.get()
        if record is not None:
            record.phase(phase, nanoseconds)

    @unfailing("traces")
    def shed(self, reason: ShedReason) -> None:
        """A request was refused for lack of room, or arrived too late to be evaluated."""
        super().shed(reason)
        record = CURRENT.get()
        if record is not None:
            record.event("policyd.shed", {"policyd.reason": reason})

    @unfailing("traces")
    def lookup(self, what: LookupKind, result: LookupResult, nanoseconds: int) -> None:
        """A lookup in the cluster ended."""
        super().lookup(what, result, nanoseconds)
        record = CURRENT.get()
        if record is not None:
            record.lookup(what, result, nanoseconds)

    @unfailing("traces")
    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """A policy denied, warned, failed, changed another policy's work or was lifted."""
        super().happened(request, event)
        record = CURRENT.get()
        if record is None:
            return
        if event.effect == "denied" and len(record.denying) < MOST_EVENTS:
            record.denying[event.policy] = None
        values: SpanAttributes = {
            "policyd.policy": event.policy,
            "policyd.effect": event.effect,
        }
        if event.exception:
            values["policyd.exception"] = event.exception
        if event.rollout:
            values["policyd.rollout"] = event.rollout
        record.event(f"policyd.{event.what}", values)


def _string(value: object) -> str:
    """The value as a short string that every encoder accepts."""
    return encodable(bounded(value, MOST_CHARS)) if isinstance(value, str) else ""

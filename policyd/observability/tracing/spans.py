"""Converts a record to spans: the request, and below it its phases and lookups.

Runs on the export thread. Names and attributes follow OpenTelemetry's semantic conventions for HTTP
servers; policyd's names begin with ``policyd.``.
"""

import secrets
import socket
from collections.abc import Iterable

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind
from opentelemetry.trace.status import Status, StatusCode

from policyd import __version__
from policyd.observability.tracing.record import Interval, RequestTrace, SpanAttributes, TraceEvent

_SERVER_ERROR = 500


class SpanMaker:
    """Makes the spans of one server."""

    def __init__(self) -> None:
        own = {
            "service.name": "policyd",
            "service.version": __version__,
            "service.instance.id": socket.gethostname(),
        }
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override ours.
        self._resource = Resource.create(own).merge(OTELResourceDetector().detect())
        self._scope = InstrumentationScope("policyd", __version__)

    def spans(self, record: RequestTrace) -> list[ReadableSpan]:
        """The spans of a request, the request itself first."""
        began = min([record.began, *(each.began for each in record.intervals)])
        # Its name and its attributes by the semantic conventions for HTTP servers.
        known = bool(record.route) and record.status != 404
        name = f"{record.method} {record.route}" if known else record.method
        attributes: SpanAttributes = {"http.request.method": record.method, **record.attributes}
        if record.method == "HTTP":
            attributes["http.request.method"] = "_OTHER"
        if known:
            attributes["http.route"] = record.route
        if record.status:
            attributes["http.response.status_code"] = record.status
        if record.denying:
            attributes["policyd.policies.denying"] = list(record.denying)
        if record.dropped:
            attributes["policyd.dropped"] = record.dropped
        error = record.error or (str(record.status) if record.status >= _SERVER_ERROR else "")
        if not record.status and not error:
            error = "disconnected"
        if error:
            attributes["error.type"] = error
        request = self._span(
            record,
            Interval(name, began, record.ended, attributes),
            record.context,
            record.parent,
            kind=SpanKind.SERVER,
            events=record.events,
            failed=bool(error),
        )
        return [request, *(self._child(record, each) for each in record.intervals)]

    def _child(self, record: RequestTrace, interval: Interval) -> ReadableSpan:
        context = SpanContext(
            record.context.trace_id,
            secrets.randbits(64) or 1,
            is_remote=False,
            trace_flags=record.context.trace_flags,
            trace_state=record.context.trace_state,
        )
        lookup = interval.attributes.get("policyd.lookup.result", "success")
        kind = SpanKind.CLIENT if interval.attributes else SpanKind.INTERNAL
        failed = lookup != "success"
        return self._span(record, interval, context, record.context, kind=kind, failed=failed)

    def _span(
        self,
        record: RequestTrace,
        interval: Interval,
        context: SpanContext,
        parent: SpanContext | None,
        *,
        kind: SpanKind,
        events: Iterable[TraceEvent] = (),
        failed: bool = False,
    ) -> ReadableSpan:
        offset = record.clock_offset
        return ReadableSpan(
            interval.name,
            context,
            parent,
            self._resource,
            interval.attributes,
            [SpanEvent(each.name, each.attributes, each.at + offset) for each in events],
            kind=kind,
            status=Status(StatusCode.ERROR if failed else StatusCode.UNSET),
            start_time=interval.began + offset,
            end_time=interval.ended + offset,
            instrumentation_scope=self._scope,
        )

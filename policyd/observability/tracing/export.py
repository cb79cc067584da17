"""Exports records on a separate thread: a request never waits for the collector.

The queue is bounded. Records that do not fit, or that the collector refuses, are counted and lost;
requests are answered as without tracing.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from policyd.observability.tracing.record import RequestTrace

# Requests that may wait for the thread, some KB each, and requests in one export.
MOST_WAITING = 1024
BATCH = 64
# Seconds that a request waits for others in the same export.
DELAY = 1.0
# Bytes of the collector's response, which normally has a few.
ANSWER_BYTES = 4096
_LOGGER = "opentelemetry"


@dataclass(eq=False, repr=False)
class Export:
    """Exports the records that are added. ``counts`` has the keys exported, dropped and failed;
    ``on_lost`` is called with a reason and a number, by any thread.
    """

    exporter: SpanExporter
    spans: Callable[[RequestTrace], Sequence[ReadableSpan]]
    counts: dict[str, int]
    on_lost: Callable[[str, int], None]
    _: KW_ONLY
    most: int = MOST_WAITING
    delay: float = DELAY

    def __post_init__(self) -> None:
        self._waiting: deque[RequestTrace] = deque()
        # How many the thread is exporting.
        self.exporting = 0
        self._wanted = threading.Condition()
        self._closing = False
        self._reason = _LastMessage()
        logger = logging.getLogger(_LOGGER)
        logger.addHandler(self._reason)
        logger.propagate = False  # on_lost reports less often
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def add(self, record: RequestTrace) -> None:
        """Queue a record, or count it as dropped; returns at once."""
        with self._wanted:
            fits = len(self._waiting) < self.most and not self._closing
            if fits:
                self._waiting.append(record)
                if len(self._waiting) == BATCH:
                    self._wanted.notify()
        if not fits:
            self.counts["dropped"] += 1
            self.on_lost("the queue is full", 1)

    def close(self, seconds: float) -> int:
        """Export waiting records for at most ``seconds``; return how many are left."""
        with self._wanted:
            self._closing = True
            self._wanted.notify()
        self._thread.join(seconds)
        logging.getLogger(_LOGGER).removeHandler(self._reason)
        self.exporter.shutdown()  # ends the wait for a retry
        return len(self._waiting) + self.exporting

    def _run(self) -> None:
        while True:
            with self._wanted:
                self._wanted.wait_for(
                    lambda: self._closing or len(self._waiting) >= BATCH, self.delay
                )
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                self.exporting = len(batch)
                if not batch and self._closing:
                    return
            if batch:
                self._export(batch)

    def _export(self, batch: list[RequestTrace]) -> None:
        taken, self._reason.text = False, ""
        try:
            spans = [span for record in batch for span in self.spans(record)]
            taken = self.exporter.export(spans) is SpanExportResult.SUCCESS
        except Exception as error:
            self._reason.text = f"a defect: {error!r}"
        self.exporting = 0
        self.counts["exported" if taken else "failed"] += len(batch)
        if not taken:
            self.on_lost(f"the collector did not accept them: {self._reason.text}", len(batch))


def exporter_to(endpoint: str) -> SpanExporter:
    """The exporter for a URL; headers, certificates, timeout and compression come from the
    OTEL_EXPORTER_OTLP_* variables.
    """
    return OTLPSpanExporter(endpoint, session=_BoundedSession())


class _BoundedSession(requests.Session):
    """Reads little of a response: a faulty collector must not fill the webhook's memory."""

    def request(self, method: str, url: str, **named: Any) -> requests.Response:  # type: ignore[override]
        """Send a request and drop the response's body. A redirect, which is not followed, is an
        error.
        """
        response = super().request(method, url, **{**named, "stream": True})
        if response.is_redirect or 300 <= response.status_code < 400:
            response.close()
            raise requests.RequestException(
                f"the collector answered {response.status_code}, a redirect"
            )
        length = response.headers.get("Content-Length", "")
        short = length.isascii() and length.isdigit() and int(length) <= ANSWER_BYTES
        # A short response arrives with its head, and its connection can be reused; a slow or
        # endless response loses its connection.
        if not short or len(response.raw.read1(ANSWER_BYTES, False)) < int(length):
            response.close()
        return response


class _LastMessage(logging.Handler):
    """Keeps the last message of OpenTelemetry's loggers: why an export failed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message, on one line."""
        self.text = " ".join(record.getMessage().split())

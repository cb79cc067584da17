"""The queue between requests and the collector: bounded, counted, never in the way."""

import threading
from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from policyd.observability.tracing.export import BATCH, Export
from policyd.observability.tracing.record import OUTCOMES, RequestTrace
from tests.server.process import until


class Collector(SpanExporter):
    """Takes spans when it is told to."""

    def __init__(self, result: SpanExportResult | Exception = SpanExportResult.SUCCESS) -> None:
        self.result = result
        self.open = threading.Event()
        self.taken: list[int] = []
        self.closed = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.open.wait(300)
        self.taken.append(len(spans))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def shutdown(self) -> None:
        self.closed = True


class Exporting:
    """An export with its counts and what was reported."""

    def __init__(self, collector: Collector, most: int = 100) -> None:
        self.counts = dict.fromkeys(OUTCOMES, 0)
        self.lost: list[tuple[str, int]] = []
        span: Any = object()
        self.export = Export(
            collector,
            lambda _: [span],
            self.counts,
            lambda *given: self.lost.append(given),
            most=most,
            delay=0.01,
        )

    def add(self, count: int) -> None:
        for _ in range(count):
            self.export.add(RequestTrace(None, None, "POST", "/validate"))


def test_a_full_queue_drops_the_newest_and_counts_them() -> None:
    collector = Collector()
    made = Exporting(collector, most=5)
    made.add(1)
    until(lambda: made.export.exporting == 1, "the first export")  # which does not end
    made.add(8)
    assert made.counts["dropped"] == 3
    assert made.lost == [("the queue is full", 1)] * 3
    collector.open.set()
    assert made.export.close(20) == 0
    assert made.counts == {"exported": 6, "dropped": 3, "failed": 0}
    assert collector.closed


def test_an_export_has_a_limited_size() -> None:
    collector = Collector()
    collector.open.set()
    made = Exporting(collector, most=1000)
    made.add(3 * BATCH + 1)
    assert made.export.close(20) == 0
    assert sum(collector.taken) == 3 * BATCH + 1
    assert max(collector.taken) <= BATCH


def test_what_the_collector_does_not_take_is_counted() -> None:
    for result in (SpanExportResult.FAILURE, KeyError("a defect")):
        collector = Collector(result)
        collector.open.set()
        made = Exporting(collector)
        made.add(2)
        until(lambda: made.counts["failed"] == 2, "two failures")  # noqa: B023
        made.add(1)  # the thread goes on
        assert made.export.close(20) == 0
        assert made.counts == {"exported": 0, "dropped": 0, "failed": 3}
        assert sum(count for _, count in made.lost) == 3
        assert all("the collector did not accept them" in why for why, _ in made.lost)


def test_the_end_does_not_wait_for_a_collector_that_hangs() -> None:
    collector = Collector()
    made = Exporting(collector)
    made.add(4)
    until(lambda: made.export.exporting == 4, "an export")
    made.add(2)
    assert made.export.close(0.05) == 6
    made.add(1)
    assert made.counts["dropped"] == 1
    collector.open.set()

"""``/metrics``: the metrics of ``metrics.json``, gathered at each scrape."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from policyd._core.counting.counters import Histogram
from policyd.http.limits import InFlight
from policyd.http.policies_in_use import PoliciesInUse
from policyd.http.status import Render
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.observability.metrics.scrape import CacheState, CountedConnections, ReadState, Scrape

_FORMS: Mapping[str, Callable[..., Any]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}


class MetricRow(NamedTuple):
    """A row of ``metrics.json``: a metric (a counter without the ending _total) and its labels.
    ``values`` returns its values by label, or its only value; None hides it.

    ``optional``: hidden without any series. ``later``: it has series for each policy, so another
    thread makes them; ``values`` reads only the Scrape.
    """

    name: str
    kind: str
    about: str
    values: Callable[[Scrape], Any]
    labels: Sequence[str] = ()
    optional: bool = False
    later: bool = False

    def families(self, scrape: Scrape) -> Iterator[Metric]:
        """Yield the metric unless it is hidden."""
        found = self.values(scrape)
        if found is None or (self.optional and not found):
            return
        if self.kind == "info":
            yield InfoMetricFamily(self.name, self.about, value=found)
            return
        family = _FORMS[self.kind](self.name, self.about, labels=self.labels)
        for labels, value in (found if self.labels else {(): found}).items():
            named = [labels] if isinstance(labels, str) else [*labels]
            if isinstance(value, Histogram):
                buckets, count, total = value.snapshot()
                rows = [(f"{bound:g}", float(below)) for bound, below in buckets]
                family.add_metric(named, [*rows, ("+Inf", float(count))], total)
            else:
                family.add_metric(named, float(value))
        yield family


def _read() -> list[MetricRow]:
    """Return the table. ``from`` names the attribute of a Scrape with the values, or with ``A.*.B``
    the attribute B of each item of A; ``by`` names the function in this package that returns them.
    """
    rows = json.loads(Path(__file__).with_name("metrics.json").read_bytes())
    for row in rows:
        source, function = row.pop("from", ""), row.pop("by", "")
        module, _, name = function.rpartition(".")
        row["values"] = (
            _attribute(source)
            if source
            else getattr(import_module(f"{__package__}.{module}"), name)
        )
    return [MetricRow(**row) for row in rows]


def _attribute(source: str) -> Callable[[Scrape], Any]:
    where, inside, name = source.partition(".*.")
    whole = attrgetter(where)
    if not inside:
        return whole
    part = attrgetter(name)
    return lambda scrape: {key: part(each) for key, each in whole(scrape).items()}


@dataclass(eq=False)
class Exposition:
    """Everything that ``/metrics`` shows, gathered at each request.

    ``certificate_expiry`` returns a Unix time, or None without a certificate; ``watches`` whether
    each watch works; ``log_lines_lost`` the number of lost lines; ``caches`` the state of each
    cache of the cluster, ``reads`` the state of each kind that policies read.
    """

    recorder: PrometheusRecorder
    store: PoliciesInUse
    in_flight: InFlight
    certificate_expiry: Callable[[], float | None] = lambda: None
    _: KW_ONLY
    watches: Callable[[], Mapping[str, bool]] = dict
    log_lines_lost: Callable[[], int] = int
    connections: Mapping[str, CountedConnections] = field(default_factory=dict)
    caches: Callable[[], Mapping[str, CacheState]] = dict
    reads: Callable[[], Mapping[str, ReadState]] = dict
    _rows: Sequence[MetricRow] = field(default_factory=_read, init=False)
    _process: ProcessCollector = field(
        default_factory=lambda: ProcessCollector(registry=None), init=False
    )

    def prepare(self, accept: str) -> Render:
        """Return a function that returns the body of a scrape and its Content-Type: OpenMetrics if
        accepted, else Prometheus.
        """
        encode, content_type = choose_encoder(accept)
        parts = self._parts()
        return lambda: (encode(Collected(parts)), content_type)

    def families(self) -> list[Metric]:
        """The data of a scrape, before it is encoded."""
        return [*Collected(self._parts()).collect()]

    def _parts(self) -> list[Iterable[Metric]]:
        """All metrics, in the order of docs/reference/metrics.md, and the metrics of the
        process.
        """
        recorder, current = self.recorder, self.store.current
        scrape = Scrape(
            recorder,
            current,
            self.in_flight,
            self.certificate_expiry(),
            self.store.serves_last_good,
            self.watches(),
            self.log_lines_lost(),
            self.connections,
            self.caches(),
            self.reads(),
            self.store.bundles,
            [(each.name, each.snapshot()) for each in current.counters()],
            dict(recorder.patches),
            dict(recorder.conflicts),
        )
        found = [
            row.families(scrape) if row.later else [*row.families(scrape)] for row in self._rows
        ]
        return [*found, self._process.collect()]


class Collected(CollectorRegistry):
    """The interface that an encoder of prometheus_client reads."""

    def __init__(self, parts: Iterable[Iterable[Metric]]) -> None:
        super().__init__(auto_describe=False)
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        for each in self._parts:
            yield from each

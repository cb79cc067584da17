"""What metrics are made of at each scrape, and the forms that they have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from policyd._core.counting.histogram import Histogram
from policyd.http.limits import InFlight
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import BundleState


class CountedConnections(Protocol):
    """The connections of a port: ``server.network.connections.PortConnections``."""

    closed: dict[Any, int]

    @property
    def open(self) -> Mapping[Any, None]:
        """All open connections."""

    @property
    def idle(self) -> int:
        """How many connections have no request under way."""


class CountedCache(Protocol):
    """What is kept in step with the cluster: ``server.cluster.followed_lists.CacheState``."""

    @property
    def staleness(self) -> float:
        """Seconds since it was last known to be current."""

    @property
    def objects(self) -> int:
        """How many objects are kept."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """Everything that a metric may show, as it is at one moment.

    ``certificate_expiry`` is a Unix time, None without a certificate; ``serves_last_good`` says
    whether the policies are those of a former process (``--last-good``); ``watches`` says whether
    each watch works, ``log_lines_lost`` how many lines could not be written; ``connections`` has
    them by port, ``caches`` what is kept of the cluster; ``bundles`` are the ConfigMaps that
    policies are read from.
    """

    recorder: PrometheusRecorder
    policies: CompiledPolicySet
    in_flight: InFlight
    certificate_expiry: float | None
    serves_last_good: bool
    watches: Mapping[str, bool]
    log_lines_lost: int
    connections: Mapping[str, CountedConnections]
    caches: Mapping[str, CountedCache]
    bundles: Sequence[BundleState]
    # What each policy decided and spent, by name, and what it changed: snapshots.
    counters: Sequence[tuple[str, Mapping[str, Any]]]
    patches: Mapping[str, int]
    conflicts: Mapping[str, int]


def counter(name: str, doc: str, labels: str, rows: Iterable[tuple[list[str], float]]) -> Metric:
    """A counter, without the ending _total; ``labels`` are words, rows their values and a count."""
    family = CounterMetricFamily(name, doc, labels=labels.split())
    for values, count in rows:
        family.add_metric(values, count)
    return family


def gauge(name: str, doc: str, value: float) -> Metric:
    """A gauge without labels."""
    return GaugeMetricFamily(name, doc, value=value)


def gauges(name: str, doc: str, labels: str, rows: Iterable[tuple[list[str], float]]) -> Metric:
    """A gauge with labels."""
    family = GaugeMetricFamily(name, doc, labels=labels.split())
    for values, value in rows:
        family.add_metric(values, value)
    return family


def histogram(name: str, doc: str, label: str, rows: Mapping[Any, Histogram]) -> Metric:
    """A histogram by the values of one label."""
    family = HistogramMetricFamily(name, doc, labels=[label])
    for value, made in rows.items():
        buckets, count, total = made.snapshot()
        named = [(f"{bound:g}", float(below)) for bound, below in buckets]
        family.add_metric([value], [*named, ("+Inf", float(count))], total)
    return family

"""Combines the metrics of several workers into one server's metrics.

Counters and histograms are sums that never decrease. Gauges are combined by their meaning.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from policyd.observability.metrics.exposition import Collected

# Gauges of state that each worker has separately.
SUMMED = frozenset((
    "policyd_connections",
    "policyd_in_flight_bytes",
    "policyd_in_flight_requests",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
))  # fmt: skip
# Gauges whose lowest value is the worst. For all others the highest is.
LOWEST = frozenset((
    "policyd_certificate_expiry_timestamp_seconds",
    "policyd_last_reload_successful",
    "policyd_last_successful_reload_timestamp_seconds",
    "policyd_watch_healthy",
    "process_max_fds",
    "process_start_time_seconds",
))  # fmt: skip
# Metrics of one set of policies, taken from the worker that loaded its set first.
OF_OLDEST = frozenset((
    "policyd_policies_placed",
    "policyd_policy_exceptions",
    "policyd_policy_set",
))  # fmt: skip
COUNTED = frozenset(("counter", "histogram"))

# A series: the name of its sample, and its labels.
Series = tuple[str, tuple[tuple[str, str], ...]]
# A family: name, doc, type, unit, samples of a name, labels and a value.
MetricFamily = tuple[str, str, str, str, list[tuple[str, dict[str, str], float]]]


def families_of(metrics: Iterable[Metric]) -> list[MetricFamily]:
    """Return metrics in a form for messages."""
    return [
        (each.name, each.documentation, each.type, each.unit, [
            (sample.name, dict(sample.labels), float(sample.value)) for sample in each.samples
        ])
        for each in metrics
    ]  # fmt: skip


def own_process() -> Callable[[], list[MetricFamily]]:
    """Return a function that returns the metrics of this process itself."""
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    return lambda: families_of(registry.collect())


class Sums:
    """The counts of all workers, including former ones."""

    def __init__(self) -> None:
        self._families: dict[int, list[MetricFamily]] = {}
        self._counts: dict[int, dict[str, dict[Series, float]]] = {}
        # By family: the counts of workers that ended, or of policies that were replaced.
        self._before: dict[str, dict[Series, float]] = {}

    def take(self, worker: int, families: list[MetricFamily]) -> None:
        """Replace the metrics of a worker."""
        counts = {
            name: {_series(sample): sample[2] for sample in samples}
            for name, _, kind, _, samples in families
            if kind in COUNTED
        }
        self._keep(worker, counts)
        self._families[worker], self._counts[worker] = families, counts

    def end(self, worker: int) -> None:
        """Keep the counts of a worker that has ended."""
        self._keep(worker, {})
        self._families.pop(worker, None)

    def _keep(self, worker: int, now: Mapping[str, Mapping[Series, float]]) -> None:
        for name, former in self._counts.pop(worker, {}).items():
            counts, before = now.get(name, {}), self._before.setdefault(name, {})
            for series, count in former.items():
                if count > counts.get(series, 0.0):
                    before[series] = before.get(series, 0.0) + count

    def metrics(self, oldest: int | None = None, more: Iterable[MetricFamily] = ()) -> list[Metric]:
        """All families, combined; ``oldest`` is the worker whose set of policies is shown, ``more``
        are families of the supervisor.
        """
        merged: dict[str, tuple[MetricFamily, dict[Series, float]]] = {}
        workers: list[tuple[int, Iterable[MetricFamily]]] = [*self._families.items(), (-1, more)]
        for worker, families in workers:
            for family in families:
                if family[0] in OF_OLDEST and worker != oldest and oldest in self._families:
                    continue
                _, values = merged.setdefault(family[0], (family, {}))
                _combine(family, values)
        for name, (_, values) in merged.items():
            self._add_former(name, values)
        return [_metric(family, values) for family, values in merged.values()]

    def page(
        self, accept: str, oldest: int | None = None, more: Iterable[MetricFamily] = ()
    ) -> tuple[bytes, str]:
        """The body of a scrape and its Content-Type."""
        encode, content_type = choose_encoder(accept)
        return encode(Collected([self.metrics(oldest, more)])), content_type

    def of_policies(self) -> dict[str, dict[str, Any]]:
        """The decisions and the cost of each policy."""
        found: dict[str, dict[str, Any]] = {}
        for metric in self.metrics():
            for sample in metric.samples if metric.name in _OF_POLICIES else ():
                policy = sample.labels["policy"]
                row = found.setdefault(policy, {"decisions": {}, "seconds": 0.0, "cost": 0})
                if "decision" in sample.labels:
                    row["decisions"][sample.labels["decision"]] = int(sample.value)
                else:
                    key, kind = _OF_POLICIES[metric.name]
                    row[key] = kind(sample.value)
        return found

    def _add_former(self, name: str, values: dict[Series, float]) -> None:
        """Add former counts, but not of policies that no worker has any more."""
        before = self._before.get(name, {})
        for series in list(before):
            if series in values or not any(label == "policy" for label, _ in series[1]):
                values[series] = values.get(series, 0.0) + before[series]
            else:
                del before[series]


_OF_POLICIES: dict[str, tuple[str, type[int] | type[float]]] = {
    "policyd_policy_decisions": ("decisions", int),
    "policyd_policy_evaluation_seconds": ("seconds", float),
    "policyd_policy_cost_units": ("cost", int),
}


def _series(sample: tuple[str, dict[str, str], float]) -> Series:
    return sample[0], tuple(sample[1].items())


def _combine(family: MetricFamily, values: dict[Series, float]) -> None:
    """Combine the values of a family with the values of other workers."""
    name, _, kind, _, samples = family
    for sample in samples:
        series, value = _series(sample), sample[2]
        if series not in values:
            values[series] = value
        elif kind in COUNTED or name in SUMMED:
            values[series] += value
        else:
            values[series] = (min if name in LOWEST else max)(values[series], value)


def _metric(family: MetricFamily, values: Mapping[Series, float]) -> Metric:
    metric = Metric(family[0], family[1], family[2], family[3])
    metric.samples = [Sample(name, dict(labels), value) for (name, labels), value in values.items()]
    return metric

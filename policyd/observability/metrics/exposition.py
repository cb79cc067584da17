"""``/metrics``: what the sources of metrics give, gathered at each scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from policyd.http.limits import InFlight
from policyd.http.policies_in_use import PoliciesInUse
from policyd.http.status import Render
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.observability.metrics.scrape import CountedCache, CountedConnections, Scrape

# Functions of modules of this package; each is given a Scrape. A new metric is a file and a line
# here, or a line in one of these; it is documented in docs/run/metrics.md.
SOURCES = (
    "request_metrics.answered",
    "policy_metrics.decided",
    "policy_metrics.loaded",
    "policy_metrics.exceptions",
    "policy_metrics.config_maps",
    "server_metrics.room",
    "server_metrics.connections",
    "request_metrics.mutated",
    "request_metrics.looked_up",
    "request_metrics.captured",
    "request_metrics.unauthenticated",
    "request_metrics.traced",
    "server_metrics.caches",
    "controller_metrics.registered",
    "controller_metrics.reported",
    "placement_metrics.placed",
    "server_metrics.health",
    "server_metrics.process",
)
# Those with series of each policy. They read only what a Scrape took: another thread makes them.
LATER = ("policy_metrics.decided", "request_metrics.mutated")


class Exposition:
    """Everything that ``/metrics`` shows, gathered from where it lives when it is asked for.

    ``certificate_expiry`` gives a Unix time, or None without a certificate; ``watches`` whether
    each watch works; ``log_lines_lost`` how many could not be written; ``caches`` what is kept of
    the cluster.
    """

    def __init__(
        self,
        recorder: PrometheusRecorder,
        store: PoliciesInUse,
        in_flight: InFlight,
        certificate_expiry: Callable[[], float | None] = lambda: None,
        *,
        watches: Callable[[], Mapping[str, bool]] = dict,
        log_lines_lost: Callable[[], int] = int,
        connections: Mapping[str, CountedConnections] | None = None,
        caches: Callable[[], Mapping[str, CountedCache]] = dict,
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._in_flight = in_flight
        self._certificate_expiry = certificate_expiry
        self._watches = watches
        self._log_lines_lost = log_lines_lost
        self._connections = connections or {}
        self._caches = caches
        self._sources = [(_source(name), name in LATER) for name in SOURCES]
        self._process = ProcessCollector(registry=None)

    def prepare(self, accept: str) -> Render:
        """Return what writes the body of a scrape and its Content-Type: OpenMetrics if accepted,
        else Prometheus.
        """
        encode, content_type = choose_encoder(accept)
        parts = self._parts()
        return lambda: (encode(_Collected(parts)), content_type)

    def families(self) -> list[Metric]:
        """What a scrape shows, before it is encoded."""
        return [*_Collected(self._parts()).collect()]

    def _parts(self) -> list[Iterable[Metric]]:
        """All metrics of policyd, in the order of docs/run/metrics.md, and those of the process."""
        recorder, current = self._recorder, self._store.current
        scrape = Scrape(
            recorder,
            current,
            self._in_flight,
            self._certificate_expiry(),
            self._store.serves_last_good,
            self._watches(),
            self._log_lines_lost(),
            self._connections,
            self._caches(),
            self._store.bundles,
            [(each.name, each.snapshot()) for each in current.counters()],
            dict(recorder.patches),
            dict(recorder.conflicts),
        )
        found = [source(scrape) if later else [*source(scrape)] for source, later in self._sources]
        return [*found, self._process.collect()]


class _Collected(CollectorRegistry):
    """What an encoder of prometheus_client reads."""

    def __init__(self, parts: Iterable[Iterable[Metric]]) -> None:
        super().__init__(auto_describe=False)
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        for each in self._parts:
            yield from each


def _source(name: str) -> Callable[[Scrape], Iterable[Metric]]:
    module, _, function = name.rpartition(".")
    found: Callable[[Scrape], Iterable[Metric]] = getattr(
        import_module(f"{__package__}.{module}"), function
    )
    return found

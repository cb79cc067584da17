"""``/metrics``: what the sources of metrics give, gathered at each scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from policyd.http.limits import InFlight
from policyd.observability.metrics.recorder import PrometheusRecorder
from policyd.observability.metrics.scrape import CountedCache, CountedConnections, Scrape
from policyd.policy.live.holding import BundleState
from policyd.policy.live.store import LoadedPolicySet

# Functions of modules of this package; each is given a Scrape. A new metric is a file and a line
# here, or a line in one of these; it is documented in docs/run/metrics.md.
SOURCES = (
    "requests.answered",
    "policies.loaded",
    "policies.exceptions",
    "policies.config_maps",
    "server.room",
    "server.connections",
    "requests.mutated",
    "requests.looked_up",
    "requests.captured",
    "requests.traced",
    "server.caches",
    "controllers.registered",
    "controllers.reported",
    "placement.placed",
    "server.health",
    "server.process",
)


class Loaded(Protocol):
    """Provides the policy set in use: the store."""

    @property
    def current(self) -> LoadedPolicySet:
        """The policy set in use; raises LookupError before the first one is loaded."""

    @property
    def serves_last_good(self) -> bool:
        """Whether it is the last good set of a former process."""


class Exposition:
    """Everything that ``/metrics`` shows, gathered from where it lives when it is asked for.

    ``certificate_expiry`` gives a Unix time, or None without a certificate; ``watches`` whether
    each watch works; ``log_lines_lost`` how many could not be written; ``caches`` what is kept of
    the cluster; ``bundles`` the ConfigMaps that policies are read from.
    """

    def __init__(
        self,
        recorder: PrometheusRecorder,
        store: Loaded,
        in_flight: InFlight,
        certificate_expiry: Callable[[], float | None] = lambda: None,
        *,
        watches: Callable[[], Mapping[str, bool]] = dict,
        log_lines_lost: Callable[[], int] = int,
        connections: Mapping[str, CountedConnections] | None = None,
        caches: Callable[[], Mapping[str, CountedCache]] = dict,
        bundles: Callable[[], Sequence[BundleState]] = tuple,
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._in_flight = in_flight
        self._certificate_expiry = certificate_expiry
        self._watches = watches
        self._log_lines_lost = log_lines_lost
        self._connections = connections or {}
        self._caches = caches
        self._bundles = bundles
        self._sources = [_source(name) for name in SOURCES]
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """The body of a scrape and its Content-Type: OpenMetrics if accepted, else Prometheus."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def families(self) -> list[Metric]:
        """What ``render`` shows, before it is encoded."""
        return [*self._registry.collect()]

    def collect(self) -> Iterator[Metric]:
        """All metrics of policyd, in the order of docs/run/metrics.md."""
        scrape = Scrape(
            self._recorder,
            self._store.current,
            self._in_flight,
            self._certificate_expiry(),
            self._store.serves_last_good,
            self._watches(),
            self._log_lines_lost(),
            self._connections,
            self._caches(),
            self._bundles(),
        )
        for source in self._sources:
            yield from source(scrape)


def _source(name: str) -> Callable[[Scrape], Iterable[Metric]]:
    module, _, function = name.rpartition(".")
    found: Callable[[Scrape], Iterable[Metric]] = getattr(
        import_module(f"{__package__}.{module}"), function
    )
    return found

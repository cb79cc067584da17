"""What a server has of its cluster, by its settings; imports nothing of it without a cluster."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from policyd.config import Settings
from policyd.http.lifecycle import Lifecycle
from policyd.http.status import PolicyPlaces, PolicyReach
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.server.cluster.live_caches import LiveCaches
from policyd.server.health import WatchSupervisor
from policyd.server.policies.store import Store
from policyd.tls.certificates import Certificates
from policyd.tls.sources import PairSource

if TYPE_CHECKING:
    from policyd.server.cluster.cluster_controllers import InCluster


def connected(settings: Settings, log: Log) -> LiveCaches | None:
    """What is looked up for requests; None if the settings name no cluster."""
    if not settings.cluster and settings.kubeconfig is None:
        return None
    # Imported here because a server without a cluster should not spend time and memory on it.
    from policyd.cluster import connect

    return LiveCaches(connect(settings.kubeconfig, settings.timeout), settings.timeout, log)


class Controllers:
    """What a server does in its cluster beside lookups; without a cluster, nothing."""

    def __init__(
        self,
        settings: Settings,
        recorder: PrometheusRecorder,
        lifecycle: Lifecycle,
        log: Log,
        certificate_changed: Callable[[], None],
        *,
        sources: Callable[[Any], Any] | None = None,
    ) -> None:
        self._inner: InCluster | None = None
        if settings.cluster or settings.kubeconfig is not None:
            from policyd.server.cluster import cluster_controllers as in_cluster

            self._inner = in_cluster.InCluster(
                settings, recorder, lifecycle, log, certificate_changed, sources=sources
            )

    @property
    def certificate(self) -> PairSource | None:
        """The source of the certificate if it is managed."""
        return None if self._inner is None else self._inner.certificate

    def wait_for(self, appointed: asyncio.Event) -> None:
        """Write nothing that replicas have in common before this is set: of several workers one
        does.
        """
        if self._inner is not None:
            self._inner.appointed = appointed

    def reached(self) -> Mapping[tuple[str, str], PolicyReach]:
        """What reaches the policies, by their kind and name; empty if it is not known."""
        return {} if self._inner is None else self._inner.reached

    def in_use(self, policies: Any) -> Any:
        """What the webhook evaluates of a policy set: not what the API server does itself."""
        return policies if self._inner is None else self._inner.in_use(policies)

    def placed(self) -> Mapping[tuple[str, str], PolicyPlaces]:
        """Where each policy runs, by kind and name; empty if every one runs by the webhook."""
        return {} if self._inner is None else self._inner.placed

    def may_write(self) -> bool:
        """Whether this replica writes what all replicas have in common."""
        return self._inner is None or self._inner.may_write

    def unready(self) -> list[str]:
        """Why the server is not ready."""
        return [] if self._inner is None else self._inner.unready()

    def changed(self) -> None:
        """Policies changed, or the server began to listen."""
        if self._inner is not None:
            self._inner.changed()

    def connect(self, store: Store, certificates: Certificates) -> None:
        """Use these policies and certificates."""
        if self._inner is not None:
            self._inner.connect(store, certificates)

    def start(self, stop: asyncio.Event, watches: WatchSupervisor) -> list[asyncio.Task[None]]:
        """Start on the running loop; the tasks end after ``stop`` is set."""
        return [] if self._inner is None else self._inner.start(stop, watches)

    async def close(self) -> None:
        """Close all connections."""
        if self._inner is not None:
            await self._inner.close()

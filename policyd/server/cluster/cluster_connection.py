"""A server's connection to its cluster, before it has policies: clients, definitions, the Lease
and the managed certificate. Imported only if a cluster is configured.
"""

import asyncio

from policyd.cluster import connect
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.config import Settings
from policyd.controllers.clocks import ServerClock
from policyd.controllers.controller import Changes
from policyd.controllers.leases import LeaseHolder
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.server.cluster.live_caches import LiveCaches
from policyd.server.cluster.live_definitions import LiveDefinitions
from policyd.server.cluster.own_namespace import known_namespace, own_namespace
from policyd.tls.certificates import HeldPair

LEASE = "policyd"


class ClusterConnection:
    """The connections of one server. One of several workers is ``appointed`` to write for all."""

    def __init__(
        self,
        settings: Settings,
        recorder: PrometheusRecorder,
        log: Log,
        appointed: asyncio.Event | None = None,
    ) -> None:
        timeout = settings.timeout
        client = connect(settings.kubeconfig, timeout)
        self.caches = LiveCaches(client, timeout, log, settings.max_read_bytes)
        self.definitions = LiveDefinitions(
            self.caches,
            timeout,
            recorder,
            log,
            follows_version=settings.kubernetes_version is None,
        )
        writes = settings.register or settings.manage_certificates
        self.namespace = known_namespace(settings) if writes else own_namespace(settings)
        self.objects = ObjectClient(configuration(settings.kubeconfig), timeout)
        self.clock = ServerClock()
        self.changes = Changes()  # of the Lease, certificates and stored objects
        self.pair: HeldPair | None = None
        if settings.manage_certificates:
            self.pair = HeldPair(f"the Secret {self.namespace}/{settings.certificate_secret}")
        self._appointed = appointed
        self.lease: LeaseHolder | None = None
        if writes:
            self.lease = LeaseHolder(
                self.objects,
                self.namespace,
                LEASE,
                log,
                clock=self.clock,
                changed=self.changes,
                appointed=appointed,
            )

    def holds_lease(self) -> bool:
        """Whether this replica holds the Lease."""
        return self.lease is not None and self.lease.holds

    def may_write(self) -> bool:
        """Whether this replica writes the objects that replicas share: all do without a Lease."""
        if self.lease is None:
            return self._appointed is None or self._appointed.is_set()
        return self.lease.holds

    async def close(self) -> None:
        """Close all connections."""
        await self.objects.close()
        await self.caches.close()
        self.definitions.close()

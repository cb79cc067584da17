"""Creates and runs the controllers of a server, and exposes where policies run and who calls
them. Imported only if a cluster is configured.
"""

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from traceback import format_exception
from typing import cast
from urllib.parse import urlsplit

from policyd.config import Settings
from policyd.controllers.certificates.bundles import MountedBundle, WebhookAddress
from policyd.controllers.certificates.managed import (
    CertificateOptions,
    ManagedCertificates,
    names_of,
)
from policyd.controllers.controller import Controller, Trouble
from policyd.controllers.events.writer import RESULTS, EventWriter
from policyd.controllers.placement.placed_policies import PlacedPolicies
from policyd.controllers.placement.placement_writer import PlacementWriter
from policyd.controllers.placement.watched_documents import WatchedDocuments
from policyd.controllers.registration.reach_watch import ReachWatch
from policyd.controllers.registration.registrar import Registration, RegistrationInputs
from policyd.controllers.registration.watched_configurations import WatchedConfigurations
from policyd.controllers.waiting import until_any
from policyd.errors import ConfigError
from policyd.http.lifecycle import Lifecycle
from policyd.http.policies_in_use import ClusterView, PolicyPlaces
from policyd.json_types import JSONObject
from policyd.leftovers.dead_webhooks import blocking_webhooks
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.placement.placement import PlacementMode, PolicyPart
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.server.cluster.cluster_connection import ClusterConnection
from policyd.server.edits.edit_gate import edit_selector
from policyd.server.health import WatchSupervisor
from policyd.server.policies.store import Store
from policyd.tls.certificates import Certificates
from policyd.webhooks.reach.reach_result import Reached
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress

_Run = Callable[[asyncio.Event], Awaitable[None]]

# How often metrics are updated with the health of the controllers.
HEALTH_SECONDS = 1.0
# How soon a controller starts again after a defect.
RESTART_SECONDS = 5.0
# The limits of timeoutSeconds.
SHORTEST_TIMEOUT, LONGEST_TIMEOUT = 1, 30


@dataclass(eq=False, repr=False)
class ClusterControllers(ClusterView):
    """The controllers of one server. ``serve`` is called when the certificate changes."""

    connection: ClusterConnection
    settings: Settings
    store: Store
    certificates: Certificates
    _: KW_ONLY
    lifecycle: Lifecycle
    recorder: PrometheusRecorder
    log: Log
    serve: Callable[[], None]

    def __post_init__(self) -> None:
        self._defects: dict[str, str] = {}  # controllers that failed, and why
        self._configurations = WatchedConfigurations(
            self.connection.objects, self.settings.webhook_name, self.connection.changes
        )
        self._mounted = (
            None
            if self.settings.tls_cert is None
            else MountedBundle(self.settings.tls_cert, self.log)
        )
        self._managed = self._managed_certificates()
        self._placed = self._placed_policies()
        self._registration = self._webhook_registration()
        self._reach = ReachWatch(
            self._reachable,
            self._configurations,
            self.log,
            registers=self.settings.register,
            wanted=self._wanted,
        )
        self._writer = self._placement_writer()
        self._events, self._ended = self._event_writer(), asyncio.Event()
        self._writing: asyncio.Task[None] | None = None  # the Events
        self.recorder.unreached = lambda: self._reach.unreached
        if self.connection.lease is not None:
            self.recorder.leads = self.connection.holds_lease
        # Controllers that depend on the Lease, certificates or stored objects.
        told = (self._managed, self._registration, self._reach, self._writer)
        self.connection.changes.listeners += [each.changed for each in told if each is not None]
        documents = None if self._placed is None else self._placed.documents
        every = (self._configurations, self.connection.lease, documents, self._placed, *told)
        self.controllers: Sequence[Controller] = [each for each in every if each is not None]

    # For the admin pages and requests.

    @property
    def reached(self) -> Mapping[tuple[str, str], Reached]:
        """The callers of the policies, by kind and name of the policy; empty if not known."""
        return self._reach.reached

    @property
    def placed(self) -> Mapping[tuple[str, str], PolicyPlaces]:
        """Where the policies run, by kind and name of the policy; empty without --in-tree."""
        return {} if self._placed is None else self._placed.placed

    def evaluated(self, policies: CompiledPolicySet) -> CompiledPolicySet:
        """Return the policies that the webhook evaluates, without those that the API server
        enforces itself.
        """
        return policies if self._placed is None else self._placed.evaluated(policies)

    # Loops.

    def start(self, stop: asyncio.Event, watches: WatchSupervisor) -> list[asyncio.Task[None]]:
        """Start all controllers on the running loop; they end after ``stop`` is set."""
        loop = asyncio.get_running_loop()
        if self._events is not None:
            # Runs beyond ``stop``: requests are also denied while the server drains.
            writing = self._kept(self._events.name, self._events.run, self._ended)
            self._writing = loop.create_task(writing, name="events")
        loops: dict[str, _Run] = {each.name: each.run for each in self.controllers}
        loops["health"] = partial(self._note_health, watches)
        # A daemon thread: a stopping server does not wait for an unresponsive API server.
        threading.Thread(target=self._log_leftovers, name="leftovers", daemon=True).start()
        return [
            loop.create_task(self._kept(name, run, stop), name=name) for name, run in loops.items()
        ]

    async def _kept(self, name: str, run: _Run, stop: asyncio.Event) -> None:
        """Run a controller until ``stop`` is set. Restart it after any exception, which is a
        defect: nothing else does the controller's work.
        """
        while not stop.is_set():
            try:
                await run(stop)
            except Exception as error:
                self._defects[name] = f"{type(error).__name__}: {error}"
                trace = "".join(format_exception(error))
                message = f"the controller of the {name} failed and is restarted"
                self.log.write("error", "defect", message, traceback=trace)
                await until_any(stop, seconds=RESTART_SECONDS)

    async def close(self) -> None:
        """Write the remaining Events."""
        self._ended.set()
        if self._events is not None and self._writing is not None:
            await self._events.close(self._writing)

    def _log_leftovers(self) -> None:
        """Log webhooks of other software that deny requests because nothing answers them."""
        settings = self.settings
        given = (settings.kubeconfig, settings.timeout, settings.webhook_name)
        try:
            for each in blocking_webhooks(*given):
                message = f"{each.file}: {each.message}"
                self.log.write("warning", "leftover", message, hint=each.hint)
        except ConfigError as error:
            message = f"cannot check for webhooks that block the cluster: {error}"
            self.log.write("warning", "leftover", message)

    async def _note_health(self, watches: WatchSupervisor, stop: asyncio.Event) -> None:
        """Record whether each controller works, and log failing watches."""
        health: dict[str, Controller | None] = {
            "registration": self._registration,
            "in-tree": self._writer or self._placed,
            "managed-certificates": self._managed,
        }
        noted = [(each, watches.add(name)) for name, each in health.items() if each is not None]
        trouble = Trouble("watch", self.log)
        while not stop.is_set():
            for each, watch in noted:
                watch.succeeded()  # the last known state stays in use
                # A controller that failed counts as unhealthy for one round.
                found = self._defects.pop(each.name, "") or each.problem
                if found:
                    watch.failed(found)
            failing = self._configurations.problem if self.connection.lease is not None else ""
            if failing:
                trouble.begin(f"cannot watch the webhook configurations for changes: {failing}")
            else:
                trouble.end("the webhook configurations are watched again")
            await until_any(stop, seconds=HEALTH_SECONDS)

    # Construction.

    def _managed_certificates(self) -> ManagedCertificates | None:
        connection, settings = self.connection, self.settings
        if connection.pair is None:
            return None
        namespace, url = connection.namespace, settings.webhook_url
        address = WebhookAddress(namespace, settings.webhook_service.name, url)
        options = CertificateOptions(
            namespace,
            settings.certificate_secret,
            names_of(address, urlsplit(url).hostname or ""),
            settings.certificate_lifetime,
            address,
        )
        return ManagedCertificates(
            connection.objects,
            options,
            self._configurations,
            self.log,
            pair=connection.pair,
            clock=connection.clock,
            holds=connection.holds_lease,
            publishes=lambda: self._registration is not None and self._registration.active,
            serve=self.serve,
            noticed=connection.changes,
            rotations=self.recorder.rotations,
            writes=self.recorder.registrations,
        )

    def _placed_policies(self) -> PlacedPolicies | None:
        """Return the controller of the policies that the API server enforces itself."""
        if not self.settings.in_tree:
            return None
        placed = PlacedPolicies(
            self._with_sources,
            WatchedDocuments(self.connection.objects),
            self._render_options(),
            cast(PlacementMode, self.settings.in_tree),
            self.log,
            clock=self.connection.clock,
            noticed=self.connection.changes,
        )
        placed.documents.listeners.append(placed.document_changed)
        self.recorder.placed = lambda: [
            (policy, webhook, engine) for _, policy, webhook, engine, _ in placed.places()
        ]
        return placed

    def _placement_writer(self) -> PlacementWriter | None:
        if self._placed is None or self._registration is None:
            return None
        writer = PlacementWriter(
            self.connection.objects,
            self.settings.webhook_name,
            self._placed,
            self._registration,
            self.log,
            holds=self.connection.holds_lease,
            writes=self.recorder.placements,
        )
        self._placed.documents.listeners.append(lambda _: writer.changed())
        return writer

    def _webhook_registration(self) -> Registration | None:
        if not self.settings.register:
            return None
        return Registration(
            self.connection.objects,
            self._render_options(),
            self._configurations,
            self.log,
            holds=self.connection.holds_lease,
            inputs=self._inputs,
            writes=self.recorder.registrations,
        )

    def _event_writer(self) -> EventWriter | None:
        if not self.settings.events:
            return None
        recorder, lifecycle = self.recorder, self.lifecycle
        recorder.events = dict.fromkeys(RESULTS, 0)
        writer = EventWriter(
            self.connection.objects,
            self.log,
            recorder.events,
            draining=lambda: lifecycle.draining,
        )
        recorder.listeners["events"] = writer.note
        return writer

    def _render_options(self) -> RenderOptions:
        settings, namespace = self.settings, self.connection.namespace
        service = settings.webhook_service
        return RenderOptions(
            name=settings.webhook_name,
            service=None
            if settings.webhook_url
            else ServiceAddress(namespace, service.name, service.port),
            url=settings.webhook_url,
            namespace=namespace,
            policy_configmaps=edit_selector(settings),
            timeout=min(max(math.ceil(settings.timeout), SHORTEST_TIMEOUT), LONGEST_TIMEOUT),
        )

    # Called by the controllers.

    def _with_sources(self) -> tuple[CompiledPolicySet, Sources] | None:
        """The policies in use, and their sources for the export."""
        loaded = self.store.loaded_set if self.store.loaded else None
        if loaded is None or loaded.sources is None:
            return None
        return loaded.policies, loaded.sources

    def _reachable(self) -> CompiledPolicySet | None:
        """The policies that webhook rules have to reach."""
        return self.evaluated(self.store.current) if self.store.loaded else None

    def _wanted(self) -> Sequence[JSONObject] | None:
        """The webhook configurations that this replica registers; None if another does."""
        if self._registration is None or not self.connection.holds_lease():
            return None
        return self._registration.wanted

    def _inputs(self) -> RegistrationInputs | str:
        """The webhooks to register, or the reason not to register now."""
        if not self.lifecycle.listening or self.lifecycle.draining:
            return "the server is not listening"
        if self.store.unready:
            return self.store.unready
        pair = self.certificates.pair
        if pair is None:
            return "there is no certificate"
        if self._managed is not None:
            bundle = self._managed.bundle
        elif self._mounted is not None:
            bundle = self._mounted.bundle(pair)
        else:  # a self-signed certificate is its own CA
            bundle = pair.certificate
        policies, left_out = self.store.current, frozenset[PolicyPart]()
        if self._placed is not None:
            found = self._placed.left_out
            if found is None or found[0] is not policies:
                return "the policies that the API server enforces are not known yet"
            left_out = found[1]
        return RegistrationInputs(policies, bundle, left_out)

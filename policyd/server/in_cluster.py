"""What a server does in its cluster beside lookups: the Lease, certificates, registration.

Connects the controllers with the server; imported only if a cluster is configured. Decides nothing.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from traceback import format_exception
from typing import cast
from urllib.parse import urlsplit

from policyd.cluster import NAMESPACE_FILE
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.config import Settings
from policyd.controllers.certificates.bundles import WebhookAddress
from policyd.controllers.certificates.managed import (
    CertificateOptions,
    ManagedCertificates,
    names_of,
)
from policyd.controllers.certificates.mounted import MountedBundle
from policyd.controllers.clocks import ServerClock
from policyd.controllers.events.writer import RESULTS, EventWriter
from policyd.controllers.leases import LeaseHolder
from policyd.controllers.registration.reaching import ReachWatch
from policyd.controllers.registration.registrar import Registration, RegistrationInputs
from policyd.controllers.registration.watched import WatchedConfigurations
from policyd.controllers.trouble import Trouble
from policyd.errors import ConfigError
from policyd.http.lifecycle import Lifecycle
from policyd.http.status import PolicyPlaces
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.live.store import Store
from policyd.policy.source.documents import Sources
from policyd.server.health import WatchSupervisor
from policyd.server.in_tree import InTreePolicies
from policyd.server.live_policies import edit_selector, own_namespace
from policyd.tls.certificates import Certificates
from policyd.tls.sources import PairSource
from policyd.webhooks.reach.reached import Reached
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress

LEASE = "policyd"
# How often the health of the controllers is noted for the metrics.
HEALTH_SECONDS = 1.0
# How soon a controller starts again after a defect.
RESTART_SECONDS = 5.0
# The limits of timeoutSeconds.
SHORTEST_TIMEOUT, LONGEST_TIMEOUT = 1, 30


class InCluster:
    """The controllers of one server. ``serve`` is called when there is another certificate."""

    def __init__(
        self,
        settings: Settings,
        recorder: PrometheusRecorder,
        lifecycle: Lifecycle,
        log: Log,
        serve: Callable[[], None],
        *,
        sources: Callable[[CompiledPolicySet], Sources] | None = None,
    ) -> None:
        config = configuration(settings.kubeconfig)
        self._settings = settings
        self._recorder = recorder
        self._lifecycle = lifecycle
        self._log = log
        self._namespace = own_namespace(settings)
        if not self._namespace and (settings.register or settings.manage_certificates):
            raise ConfigError(f"--namespace is not set, and there is no {NAMESPACE_FILE}")
        self._client = ObjectClient(config, settings.timeout)
        self._configurations = WatchedConfigurations(
            self._client, settings.webhook_name, self._changed
        )
        self._store: Store | None = None
        self._certificates: Certificates | None = None
        self._mounted: MountedBundle | None = None
        self._clock = ServerClock()
        self._defects: dict[str, str] = {}  # controllers that failed, and why
        # Of several workers, one is a candidate for the Lease; a process of its own always is.
        self.appointed: asyncio.Event | None = None
        self._lease: LeaseHolder | None = None
        if settings.register or settings.manage_certificates:
            self._lease = LeaseHolder(
                self._client,
                self._namespace,
                LEASE,
                log,
                clock=self._clock,
                changed=self._changed,
            )
            recorder.leads = self._holds
        self._managed = self._managed_certificates(serve) if settings.manage_certificates else None
        self._registration: Registration | None = None
        self._reach: ReachWatch | None = None
        self._in_tree: InTreePolicies | None = None
        if settings.in_tree and sources is not None:
            self._in_tree = InTreePolicies(
                self._client,
                settings,
                self._render_options(),
                recorder,
                log,
                policies=self._policies,
                sources=sources,
                clock=self._clock,
                noticed=self._changed,
            )

        self._events: EventWriter | None = None
        self._writing: asyncio.Task[None] | None = None  # what runs it
        self._ended = asyncio.Event()
        if settings.events:
            recorder.events = dict.fromkeys(RESULTS, 0)
            self._events = EventWriter(
                self._client, log, recorder.events, draining=lambda: lifecycle.draining
            )
            recorder.listeners["events"] = self._events.note

    @property
    def certificate(self) -> PairSource | None:
        """The source of the certificate if it is managed."""
        return None if self._managed is None else self._managed.pair

    @property
    def may_write(self) -> bool:
        """Whether this replica writes what all have in common: without a Lease every one does."""
        if self._lease is None:
            return self.appointed is None or self.appointed.is_set()
        return self._lease.holds

    @property
    def reached(self) -> Mapping[tuple[str, str], Reached]:
        """What reaches the policies, by their kind and name; empty if it is not known."""
        return {} if self._reach is None else self._reach.reached

    def in_use(self, policies: CompiledPolicySet) -> CompiledPolicySet:
        """What the webhook evaluates of a set."""
        return policies if self._in_tree is None else self._in_tree.in_use(policies)

    @property
    def placed(self) -> Mapping[tuple[str, str], PolicyPlaces]:
        """Where the policies run, by their kind and name; empty without --in-tree."""
        return {} if self._in_tree is None else self._in_tree.placed

    def unready(self) -> list[str]:
        """Why the server is not ready."""
        return [each.unready for each in (self._managed, self._reach) if each is not None]

    def changed(self) -> None:
        """Policies or certificates changed."""
        if self._in_tree is not None:
            self._in_tree.changed()
        self._changed()

    def connect(self, store: Store, certificates: Certificates) -> None:
        """Use these policies and certificates."""
        self._store, self._certificates = store, certificates
        if self._settings.tls_cert is not None:
            self._mounted = MountedBundle(self._settings.tls_cert, self._log)
        if self._settings.register:
            self._registration = Registration(
                self._client,
                self._render_options(),
                self._configurations,
                self._log,
                holds=self._holds,
                inputs=self._inputs,
                writes=self._recorder.registrations,
            )
            if self._in_tree is not None:
                self._in_tree.write(self._registration, self._holds)
        self._reach = ReachWatch(
            self._reachable,
            self._configurations,
            self._log,
            registers=self._settings.register,
            wanted=self._wanted,
        )
        reach = self._reach
        self._recorder.unreached = lambda: reach.unreached

    def start(self, stop: asyncio.Event, watches: WatchSupervisor) -> list[asyncio.Task[None]]:
        """Start all controllers on the running loop; they end after ``stop`` is set."""
        assert self._reach is not None
        loops: dict[str, Callable[[asyncio.Event], Awaitable[None]]] = {
            "configurations": self._configurations.run,
            "reach": self._reach.run,
            "health": partial(self._note_health, watches),
        }
        if self._lease is not None:
            loops["lease"] = partial(self._be_candidate, self._lease)
        if self._managed is not None:
            loops["managed certificates"] = self._managed.run
        if self._registration is not None:
            loops["registration"] = self._registration.run
        if self._in_tree is not None:
            loops |= self._in_tree.loops()
        loop = asyncio.get_running_loop()
        if self._events is not None:
            # Not until ``stop``: requests are denied while the server drains, too.
            writing = self._kept("Events", self._events.run, self._ended)
            self._writing = loop.create_task(writing, name="events")
        return [
            loop.create_task(self._kept(name, run, stop), name=name) for name, run in loops.items()
        ]

    async def _kept(
        self, name: str, run: Callable[[asyncio.Event], Awaitable[None]], stop: asyncio.Event
    ) -> None:
        """Run a controller until ``stop`` is set, again after any exception: it would be a defect,
        and nobody else would do the controller's work.
        """
        while not stop.is_set():
            try:
                await run(stop)
            except Exception as error:
                self._defects[name] = f"{type(error).__name__}: {error}"
                trace = "".join(format_exception(error))
                message = f"the controller of the {name} failed and starts again"
                self._log.write("error", "defect", message, traceback=trace)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), RESTART_SECONDS)

    async def _be_candidate(self, lease: LeaseHolder, stop: asyncio.Event) -> None:
        if self.appointed is not None:
            waits = [asyncio.ensure_future(each.wait()) for each in (self.appointed, stop)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()
        if not stop.is_set():
            await lease.run(stop)

    async def close(self) -> None:
        """Write the Events that are left, and close all connections."""
        self._ended.set()
        if self._events is not None and self._writing is not None:
            await self._events.close(self._writing)
        await self._client.close()

    def _holds(self) -> bool:
        return self._lease is not None and self._lease.holds

    def _changed(self) -> None:
        writer = None if self._in_tree is None else self._in_tree.writer
        for each in (self._managed, self._registration, self._reach, writer):
            if each is not None:
                each.changed()

    def _policies(self) -> CompiledPolicySet | None:
        store = self._store
        if store is None or not store.loaded:
            return None
        return cast(CompiledPolicySet, store.current)

    def _reachable(self) -> CompiledPolicySet | None:
        """The policies that webhook rules have to reach."""
        policies = self._policies()
        return None if policies is None else self.in_use(policies)

    def _wanted(self) -> Sequence[JSONObject] | None:
        """The webhook configurations that this replica keeps registered; None if another does."""
        if self._registration is None or not self._holds():
            return None
        return self._registration.wanted

    def _managed_certificates(self, serve: Callable[[], None]) -> ManagedCertificates:
        settings, address = self._settings, self._address()
        host = urlsplit(settings.webhook_url).hostname or ""
        options = CertificateOptions(
            self._namespace,
            settings.certificate_secret,
            names_of(address, host),
            settings.certificate_lifetime,
            address,
        )

        return ManagedCertificates(
            self._client,
            options,
            self._configurations,
            self._log,
            clock=self._clock,
            holds=self._holds,
            publishes=lambda: self._registration is not None and self._registration.active,
            serve=serve,
            noticed=self._changed,
            rotations=self._recorder.rotations,
        )

    def _address(self) -> WebhookAddress:
        settings = self._settings
        return WebhookAddress(self._namespace, settings.webhook_service.name, settings.webhook_url)

    def _render_options(self) -> RenderOptions:
        settings, service = self._settings, self._settings.webhook_service
        return RenderOptions(
            name=settings.webhook_name,
            service=None
            if settings.webhook_url
            else ServiceAddress(self._namespace, service.name, service.port),
            url=settings.webhook_url,
            namespace=self._namespace,
            policy_configmaps=edit_selector(settings),
            timeout=min(max(math.ceil(settings.timeout), SHORTEST_TIMEOUT), LONGEST_TIMEOUT),
        )

    def _inputs(self) -> RegistrationInputs | str:
        """What to register, or why it is not to be registered now."""
        assert self._store is not None
        assert self._certificates is not None
        if not self._lifecycle.listening or self._lifecycle.draining:
            return "the server does not listen"
        if self._store.unready:
            return self._store.unready
        pair = self._certificates.pair
        if pair is None:
            return "there is no certificate"
        if self._managed is not None:
            bundle = self._managed.bundle
        elif self._mounted is not None:
            bundle = self._mounted.bundle(pair)
        else:  # a self-signed certificate is its own authority
            bundle = pair.certificate
        policies = cast(CompiledPolicySet, self._store.current)
        if self._in_tree is None:
            return RegistrationInputs(policies, bundle)
        left_out = self._in_tree.left_out(policies)
        if left_out is None:
            return "it is not known yet what the API server enforces itself"
        return RegistrationInputs(policies, bundle, left_out)

    async def _note_health(self, watches: WatchSupervisor, stop: asyncio.Event) -> None:
        """Note for each controller whether it works, and log a watch that does not."""
        problems: dict[str, Callable[[], str]] = {}
        registration, managed = self._registration, self._managed
        if registration is not None:
            problems["registration"] = lambda: registration.problem or self._configurations.problem
        if self._in_tree is not None:
            in_tree = self._in_tree
            problems["in-tree"] = lambda: in_tree.problem
        if managed is not None:
            problems["managed certificates"] = lambda: managed.problem
        noted = {
            name: (watches.add(name.replace(" ", "-")), problem)
            for name, problem in problems.items()
        }
        trouble = Trouble("watch", self._log)
        while not stop.is_set():
            for name, (watch, problem) in noted.items():
                watch.succeeded()  # the state that was known last stays in use
                # A controller that failed is not healthy for one round.
                found = self._defects.pop(name, "") or problem()
                if found:
                    watch.failed(found)
            failing = self._configurations.problem if self._lease is not None else ""
            if failing:
                trouble.begin(f"cannot watch the webhook configurations for changes: {failing}")
            else:
                trouble.end("the webhook configurations are watched again")
            try:
                await asyncio.wait_for(stop.wait(), HEALTH_SECONDS)
            except TimeoutError:
                continue

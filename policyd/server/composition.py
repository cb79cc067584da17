"""The server process: wires all parts together, listens on two ports with uvloop, and drains.

``http/app.py`` handles paths and the engine evaluates; this file only starts and stops the process.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from policyd.admission.engine import review
from policyd.config import Settings
from policyd.controllers.waiting import until_any
from policyd.errors import PolicydError
from policyd.http.app import Application, create_app
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight
from policyd.http.policies_in_use import Reload
from policyd.http.status import MetricsRenderer, ProcessView
from policyd.observability.denial_history import DenialHistory
from policyd.observability.log_writer import LogWriter
from policyd.observability.logs import Bridge, Log, background_log, unhandled
from policyd.observability.metrics import Exposition
from policyd.observability.tracing.switch import tracing
from policyd.option_values import Address
from policyd.policy.compile.missing_schemas import RULE as MISSING_SCHEMA
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import Bundle
from policyd.server import allocator, signals
from policyd.server.callers.switch import keys_known, required_tokens
from policyd.server.config_map_policies import ConfigMapPolicies
from policyd.server.health import WatchSupervisor
from policyd.server.network import draining
from policyd.server.network.listen import Listener, Port, Serve, bound
from policyd.server.network.ports import ClientLog, connections_of
from policyd.server.network.tcp import Connection
from policyd.server.policies import load_log
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.server.policies.store import Store
from policyd.server.policy_evaluator import Evaluate, PolicyEvaluator
from policyd.server.signals import Signals
from policyd.server.watches import Watcher
from policyd.tls.certificates import Certificates, PairSource
from policyd.versions import NEWEST, KubernetesVersion

if TYPE_CHECKING:
    from policyd.policy.kinds.wanted_definitions import Fetch
    from policyd.server.capture import Capture
    from policyd.server.cluster.cluster_connection import ClusterConnection
    from policyd.server.cluster.cluster_controllers import ClusterControllers

# A reload compiles policies on another thread. This is the longest time that it may delay the event
# loop before Python switches threads; a request may wait several times as long, because TLS
# releases the interpreter lock.
SWITCH_SECONDS = 0.00005
# The process exits this long before the end of --grace, even if clients hold connections open.
LAST_MOMENT_SECONDS = 0.5


class Server:
    """One server process and all its parts. With several workers, ``appointed`` is set in the one
    that writes for all, ``turn`` excludes other workers that check edits, and ``process`` reports
    for all of them.
    """

    def __init__(
        self,
        settings: Settings,
        loader: PolicyLoader,
        evaluate: Evaluate = review,
        *,
        certificate: PairSource | None = None,
        log: Log | None = None,
        appointed: asyncio.Event | None = None,
        turn: AbstractContextManager[None] | None = None,
        process: ProcessView | None = None,
    ) -> None:
        self.settings = settings
        self._loader = loader
        self._writer: LogWriter | None = None
        if log is None:
            log, self._writer = background_log(settings.log_format)
        self.log = log
        self.tracing = tracing(settings, self.log)
        self.recorder = self.tracing.recorder
        self.denials = DenialHistory()
        self.recorder.listeners["denials"] = self.denials.note
        self.lifecycle = Lifecycle()
        self.signals = Signals()
        clients = ClientLog(self.recorder, self.log)
        in_flight = InFlight(settings.max_in_flight, settings.max_in_flight_bytes)
        ports = connections_of(settings, in_flight, clients, self.log)
        self.connections, self.admin_connections = ports
        self.cluster = self._connected(appointed)
        self.config_maps = ConfigMapPolicies(settings, self.cluster, self.log)
        self.store = Store(
            settings.policies,
            self._load,
            live=self.config_maps.sources(),
            on_reload=self._reloaded,
            mendable=() if self.cluster is None else (MISSING_SCHEMA,),
            allow_empty=settings.allow_empty,
            last_good=self.config_maps.last_good(self._restore),
            prepare=None if self.cluster is None else self.cluster.caches.prepare,
        )
        if certificate is None and self.cluster is not None:
            certificate = self.cluster.pair
        self.certificates = Certificates(settings, clients.refused, certificate)
        self.callers = required_tokens(settings, self.cluster, self.recorder, self.log)
        self.watches = WatchSupervisor(settings.watch_grace, self.log)
        self.watcher = Watcher(
            self.store,
            self.certificates,
            self.connections,
            self.log,
            watches=self.watches,
            cluster=self.cluster,
            callers=self.callers,
        )
        self.in_cluster = self._cluster_controllers()
        self.controllers = [] if self.in_cluster is None else self.in_cluster.controllers
        self._stop, self._certified = asyncio.Event(), asyncio.Event()
        self._interrupted = asyncio.Event()  # by SIGINT: do not wait for further requests
        self._filled = asyncio.Event()  # there are policies, or none are needed
        self.capture = self._capture()
        self._turn = turn or nullcontext()
        self._process = process or ProcessView(self.denials.recent)
        self.app = self.tracing.app(self._app(evaluate, in_flight))

    def _capture(self) -> "Capture | None":
        if self.settings.capture is None:
            return None
        from policyd.server.capture import capturing

        return capturing(self.settings.capture, self.settings, self.recorder, self.log)

    def _connected(self, appointed: asyncio.Event | None) -> "ClusterConnection | None":
        if not self.settings.cluster and self.settings.kubeconfig is None:
            return None
        # Imported here to save time and memory in a server without a cluster.
        from policyd.server.cluster.cluster_connection import ClusterConnection

        return ClusterConnection(self.settings, self.recorder, self.log, appointed)

    def _cluster_controllers(self) -> "ClusterControllers | None":
        if self.cluster is None:
            return None
        from policyd.server.cluster.cluster_controllers import ClusterControllers

        return ClusterControllers(
            self.cluster,
            self.settings,
            self.store,
            self.certificates,
            lifecycle=self.lifecycle,
            recorder=self.recorder,
            log=self.log,
            serve=self._certificate_changed,
        )

    @property
    def _definitions(self) -> "Fetch | None":
        return None if self.cluster is None else self.cluster.definitions.fetch

    # One of several workers (workers/worker.py) replaces these methods.

    def _load(self, given: Sequence[Path | Bundle]) -> LoadedSet:
        return self._loader.load(given, self._definitions, self._version)

    def _restore(self, image: bytes) -> LoadedSet:
        return self._loader.restore(image, self._definitions, self._version)

    def _end(self, number: signal.Signals) -> None:
        if number == signal.SIGINT:
            self._interrupted.set()
        self._stop.set()

    def _bound(self) -> tuple[socket.socket, socket.socket]:
        return bound(self.settings.bind), bound(self.settings.admin_bind)

    def _review_listener(self, listening: socket.socket, serve: Serve) -> Listener:
        return Listener(listening, self.connections, serve, lambda: self.certificates.context)

    async def _quiet(self) -> None:
        """Wait until the ports may close."""
        await draining.until_quiet(self.connections, self.settings, self._interrupted)

    def _app(self, evaluate: Evaluate, in_flight: InFlight) -> Application:
        lookups = None if self.cluster is None else self.cluster.caches.lookups
        return create_app(
            self.settings,
            self.store,
            self.recorder,
            self.tracing.evaluator(PolicyEvaluator(self._evaluated, lookups, evaluate)),
            exposition=self._exposition(in_flight),
            in_flight=in_flight,
            lifecycle=self.lifecycle,
            capture=self.capture,
            unready=self._unready,
            check_edit=self.config_maps.edit_gate(self.store, self.recorder.edited, self._turn),
            cluster=self.in_cluster,
            process=self._process,
            callers=self.callers,
        )

    def _evaluated(self) -> CompiledPolicySet:
        current = self.store.current
        return current if self.in_cluster is None else self.in_cluster.evaluated(current)

    def _unready(self) -> list[str]:
        """Why the server is not ready, apart from its policies and ports."""
        return [*(each.unready for each in self.controllers), *self.watcher.unready()]

    def _certificate_changed(self) -> None:
        """A controller has a new certificate."""
        self.watcher.read_certificates()
        self._certified.set()

    def _exposition(self, in_flight: InFlight) -> MetricsRenderer:
        own = self.settings.server != "hypercorn"  # Hypercorn does not report its connections
        connections = {"reviews": self.connections, "admin": self.admin_connections} if own else {}
        return Exposition(
            self.recorder,
            self.store,
            in_flight,
            lambda: self.certificates.expires_at,
            watches=self.watches.health,
            log_lines_lost=lambda: 0 if self._writer is None else self._writer.lost,
            connections=connections,
            caches=self.config_maps.states,
            reads=dict if self.cluster is None else self.cluster.caches.read_states,
        )

    def _version(self) -> KubernetesVersion:
        """The Kubernetes version to evaluate as. Called by the threads that load policies."""
        if self.settings.kubernetes_version is not None:
            return self.settings.kubernetes_version
        return NEWEST if self.cluster is None else self.cluster.definitions.version()

    def run(self) -> None:
        """Load the policies, listen, serve and drain. Returns when the server has stopped.

        Logs the reason and raises SystemExit with status 2 if the sources have errors and no
        policy, or if an address cannot be used.
        """
        allocator.keep_memory()
        self.signals.hold()
        logging.basicConfig(handlers=[Bridge(self.log)], level=logging.WARNING, force=True)
        logging.captureWarnings(True)
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            if self.config_maps.source is None:
                self.store.start()
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.get_loop().set_exception_handler(unhandled(self.log))
                runner.run(self._main())
        except PolicydError as error:
            load_log.cannot_start(self.log, error)
            raise SystemExit(error.exit_code) from None
        finally:
            signals.ignore()  # the loop has restored their default handlers
            self._settle_log()

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        for number in signals.ENDING:
            loop.add_signal_handler(number, self._end, number)
        sockets = self._bound()
        reviews, admin = self._listeners(*sockets)
        watches = self.config_maps.start(self.store, self._stop, self.watches)
        if self.in_cluster is not None:
            watches += self.in_cluster.start(self._stop, self.watches)
        admin.start()  # for probes, even if there are no policies yet
        if await self.config_maps.ready(self._stop) and await self._certificate():
            watches += self.watcher.start(self._stop, self.signals)
            if await self._policies() and await keys_known(self.callers, self.log, self._stop):
                reviews.start()
                self._listening(*sockets)
        await self._stop.wait()
        await self._drain((reviews, admin))
        await asyncio.wait(watches)
        await self.config_maps.close()
        if self.in_cluster is not None:
            await self.in_cluster.close()
        if self.cluster is not None:
            await self.cluster.close()
        if self.capture is not None:
            self.capture.close(LAST_MOMENT_SECONDS)
        self.tracing.close()
        self.log.write("info", "stopped", "all connections are closed")

    async def _certificate(self) -> bool:
        """Wait for the certificate that a controller reads or issues, while /readyz reports the
        reason; False if the server stops first.
        """
        if not self.certificates.served:
            await until_any(self._certified, self._stop)
        return self.certificates.served and not self._stop.is_set()

    async def _policies(self) -> bool:
        """Wait for policies: an empty set would allow everything. False if the server stops
        first.
        """
        if self.store.unready:
            self.log.write("error", "waiting", f"not ready: {self.store.unready}")
            await until_any(self._filled, self._stop)
        return not self._stop.is_set()

    def _listeners(self, secure: socket.socket, plain: socket.socket) -> tuple[Port, Port]:
        if self.settings.server == "hypercorn":
            from policyd.server.network.hypercorn_port import HypercornPort

            port = partial(HypercornPort, app=self.app, settings=self.settings, failed=self._failed)
            secured = port(secure, self.connections, context=self.certificates.context)
            return secured, port(plain, self.admin_connections)

        async def serve(connection: Connection) -> None:
            await connection.run(self.app)

        reviews = self._review_listener(secure, serve)
        return reviews, Listener(plain, self.admin_connections, serve)

    def _listening(self, secure: socket.socket, plain: socket.socket) -> None:
        self.lifecycle.listening = True
        self._changed()
        reviews, admin = (f"{Address(*each.getsockname()[:2])}" for each in (secure, plain))
        self.log.write(
            "info",
            "listening",
            "ready for admission requests",
            reviews=f"https://{reviews}",
            admin=f"http://{admin}",
            generation=self.store.current.generation,
            kubernetes=str(self.store.current.version),
            policies=len(self.store.current.policies),
        )

    async def _drain(self, listeners: Sequence[Port]) -> None:
        """Answer with ``Connection: close`` while still listening, then close idle connections."""
        settings = self.settings
        self.lifecycle.draining = True
        self.connections.drain()
        last = threading.Timer(max(0.1, settings.grace - LAST_MOMENT_SECONDS), self._leave)
        last.daemon = True
        last.start()
        self.log.write(
            "info",
            "draining",
            "closing each connection after its answer, until no request arrives",
            seconds=0.0 if self._interrupted.is_set() else settings.drain,
            at_most=settings.longest_drain,
        )
        await self._quiet()
        await asyncio.gather(*(listener.stop() for listener in listeners))
        for connections in (self.connections, self.admin_connections):
            connections.close_idle()
        # If requests are still running at the end of the grace period, the timer ends the process.
        await asyncio.gather(*(listener.finish(settings.grace) for listener in listeners))

    def _leave(self, status: int = 0) -> None:
        """End the process at once; called when the grace period is over."""
        self._settle_log()
        os._exit(status)

    def _failed(self, error: BaseException | None) -> None:
        """End the process after a port failed, so that it is restarted."""
        self.log.write("error", "defect", "a port stopped working", exception=repr(error))
        self._leave(1)

    def _settle_log(self) -> None:
        if self._writer is not None:
            self._writer.settle(LAST_MOMENT_SECONDS / 2)

    def _reloaded(self, attempt: Reload) -> None:
        self.recorder.reload(attempt.succeeded)
        if not self.store.unready:
            self._filled.set()
        if self.cluster is not None and not attempt.at_start:
            self.cluster.caches.follow(self.store.current)
        self._changed()
        load_log.report(self.log, self.store, attempt, str(self.settings.last_good))

    def _changed(self) -> None:
        """Notify the controllers that the policies changed or that the server listens."""
        for each in self.controllers:
            each.changed()

"""The server process: it wires all parts together, listens on two ports with uvloop, and drains.

Paths belong to the ASGI app (``http/app.py``) and evaluation to the engine; this file only starts
and stops the process.
"""

import asyncio
import logging
import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvloop
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework

from policyd.admission.with_cluster import review_with
from policyd.config import Settings
from policyd.errors import ConfigError, PolicydError, PolicyError
from policyd.http.app import Application, create_app
from policyd.http.endpoints import ReviewEvaluator
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight
from policyd.observability.log_writer import LogWriter
from policyd.observability.logs import Bridge, Log, background_log
from policyd.observability.metrics import Exposition, PrometheusRecorder
from policyd.policy.compile.missing_schemas import RULE as MISSING_SCHEMA
from policyd.policy.live.store import LoadedPolicySet, Reload, Store
from policyd.server import signals
from policyd.server.capture import Capture, CaptureOutcome
from policyd.server.cluster import LiveDefinitions
from policyd.server.connections import PortConnections, Timeouts
from policyd.server.last_good import LastGoodFile
from policyd.server.listen import Listener
from policyd.server.signals import Signals
from policyd.server.tcp import Connection
from policyd.server.watches import RefusalLog, Watcher
from policyd.tls.certificates import Certificates
from policyd.units import Address
from policyd.versions import NEWEST, KubernetesVersion

if TYPE_CHECKING:
    from policyd.cluster.client import ClusterClient

# A reload compiles policies on another thread. This is the longest time that it may delay the event
# loop before Python switches threads; a request may wait several times this long, because TLS
# releases the interpreter lock.
SWITCH_SECONDS = 0.00005
# Connections to the admin port: probes, a few scrapers, and people.
ADMIN_CONNECTIONS = 64
# This long before the end of --grace the process exits, even if clients still hold connections
# open.
LAST_MOMENT_SECONDS = 0.5


class Server:
    """One server process and everything in it."""

    def __init__(
        self,
        settings: Settings,
        load: Callable[..., LoadedPolicySet],
        evaluate: ReviewEvaluator,
        *,
        verify: Callable[[Any], Sequence[str]] = lambda _: (),
        image: Callable[[str], bytes] = lambda _: b"",
        restore: Callable[..., LoadedPolicySet] | None = None,
        log: Log | None = None,
    ) -> None:
        self.settings = settings
        self._writer: LogWriter | None = None
        if log is None:
            log, self._writer = background_log(settings.log_format)
        self.log = log
        self.recorder = PrometheusRecorder(self.log)
        self.lifecycle = Lifecycle()
        self.signals = Signals()
        refusals = RefusalLog(self.recorder, self.log)
        in_flight = InFlight(settings.max_in_flight, settings.max_in_flight_bytes)
        self.connections, self.admin_connections = _connections(settings, in_flight, refusals)
        self.cluster = _connected(settings)
        self.definitions = self._live_definitions()
        options: dict[str, Any] = {"version": self._version}
        if self.definitions is not None:
            options["definitions"] = self.definitions.fetch
        last_good: LastGoodFile | None = None
        if settings.last_good is not None and restore is not None:
            restore = partial(restore, **options)
            last_good = LastGoodFile(settings.last_good, image, restore, self.log)
        self.store = Store(
            settings.policies,
            partial(load, **options),
            verify=verify,
            on_reload=self._reloaded,
            mendable=() if self.definitions is None else (MISSING_SCHEMA,),
            allow_empty=settings.allow_empty,
            last_good=last_good,
        )
        self.certificates = Certificates(settings, refusals)
        self.watcher = Watcher(
            self.store,
            self.certificates,
            self.connections,
            self.log,
            grace=settings.watch_grace,
            definitions=self.definitions,
        )
        self._stop = asyncio.Event()
        self.capture: Capture | None = None
        if settings.capture is not None:
            self.capture = Capture(settings.capture, settings.capture_max_bytes, self._captured)
        self.app = self._app(evaluate, in_flight)

    def _app(self, evaluate: ReviewEvaluator, in_flight: InFlight) -> Application:
        return create_app(
            self.settings,
            self.store,
            self.recorder,
            evaluate,
            exposition=self._exposition(in_flight),
            in_flight=in_flight,
            lifecycle=self.lifecycle,
            evaluate_async=None if self.cluster is None else partial(review_with, self.cluster),
            capture=self.capture,
            stale_watches=self.watcher.watches.stale,
        )

    def _exposition(self, in_flight: InFlight) -> Exposition:
        return Exposition(
            self.recorder,
            self.store,
            in_flight,
            lambda: self.certificates.expires_at,
            watches=self.watcher.watches.health,
            log_lines_lost=lambda: 0 if self._writer is None else self._writer.lost,
            connections={"reviews": self.connections, "admin": self.admin_connections},
        )

    def _live_definitions(self) -> LiveDefinitions | None:
        if self.cluster is None:
            return None
        return LiveDefinitions(
            self.cluster,
            self.settings.timeout,
            self.recorder,
            self.log,
            follows_version=self.settings.kubernetes_version is None,
        )

    def _version(self) -> KubernetesVersion:
        """The Kubernetes version to evaluate as. Called by the threads that load policies."""
        if self.settings.kubernetes_version is not None:
            return self.settings.kubernetes_version
        return NEWEST if self.definitions is None else self.definitions.version()

    def run(self) -> None:
        """Load the policies, listen, serve and drain. Returns when the server has stopped.

        Raises SystemExit with status 2, after a line in the log, if the sources contain errors and
        no policy, or if an address cannot be used.
        """
        self.signals.hold()
        logging.basicConfig(handlers=[Bridge(self.log)], level=logging.WARNING, force=True)
        logging.captureWarnings(True)
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            self.store.start()
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.get_loop().set_exception_handler(self._unhandled)
                runner.run(self._main())
        except PolicydError as error:
            self._failed(error)
            raise SystemExit(error.exit_code) from None
        finally:
            signals.ignore()  # the loop has restored their default handlers
            self._settle_log()

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        for number in signals.ENDING:
            loop.add_signal_handler(number, self._stop.set)
        sockets = _bound(self.settings.bind), _bound(self.settings.admin_bind)
        watches = self.watcher.start(self._stop, self.signals)
        listeners = self._listeners(*sockets)
        for listener in listeners:
            listener.start()
        self._listening(*sockets)
        await self._stop.wait()
        await self._drain(listeners)
        await asyncio.wait(watches)
        if self.cluster is not None:
            await self.cluster.close()
        if self.definitions is not None:
            self.definitions.close()
        if self.capture is not None:
            self.capture.close(LAST_MOMENT_SECONDS)
        self.log.write("info", "stopped", "all connections are closed")

    def _listeners(self, secure: socket.socket, plain: socket.socket) -> tuple[Listener, Listener]:
        app = ASGIWrapper(cast(ASGIFramework, self.app))
        config, context = _Config(), WorkerContext(None)
        self.connections.on_malformed = self._malformed

        async def serve(connection: Connection) -> None:
            await connection.run(app, config, context)

        reviews = Listener(secure, self.connections, serve, lambda: self.certificates.context)
        return reviews, Listener(plain, self.admin_connections, serve)

    def _listening(self, secure: socket.socket, plain: socket.socket) -> None:
        self.lifecycle.start_listening()
        reviews, admin = (f"{Address(*each.getsockname()[:2])}" for each in (secure, plain))
        ready = self.store.current.policies or self.settings.allow_empty
        self.log.write(
            "info" if ready else "warning",
            "listening",
            "ready for admission requests" if ready else "not ready: there are no policies",
            reviews=f"https://{reviews}",
            admin=f"http://{admin}",
            generation=self.store.current.generation,
            kubernetes=str(self.store.current.version),
            policies=len(self.store.current.policies),
        )

    async def _drain(self, listeners: Sequence[Listener]) -> None:
        """Answer with ``Connection: close`` while still listening, then close idle connections."""
        self.lifecycle.start_draining()
        self.connections.drain()
        settings = self.settings
        last = threading.Timer(max(0.1, settings.grace - LAST_MOMENT_SECONDS), self._leave)
        last.daemon = True
        last.start()
        seconds = _drain_seconds(settings)
        self.log.write(
            "info", "draining", "closing each connection after its answer", seconds=seconds
        )
        await asyncio.sleep(seconds)
        await asyncio.gather(*(listener.stop() for listener in listeners))
        for connections in (self.connections, self.admin_connections):
            connections.close_idle()
        # If requests are still running at the end of the grace period, the timer ends the process.
        await asyncio.gather(*(listener.finish(settings.grace) for listener in listeners))

    def _leave(self) -> None:
        """End the process at once; called when the grace period is over."""
        self._settle_log()
        os._exit(0)

    def _settle_log(self) -> None:
        if self._writer is not None:
            self._writer.settle(LAST_MOMENT_SECONDS / 2)

    def _reloaded(self, attempt: Reload) -> None:
        self.recorder.reload(attempt.succeeded)
        if attempt.succeeded:
            self.log.write("info", "reload", "policies loaded", generation=attempt.generation)
            if not self.store.current.policies:
                self.log.write(
                    "warning", "empty", "no policies are loaded; every request is allowed"
                )
        else:
            kept = "the loaded policies stay in use"
            if attempt.at_start and self.store.serves_last_good:
                kept = f"the last good policies, kept in {self.settings.last_good}, are served"
            elif not self.store.current.policies:
                kept = "there are no policies to serve"
            elif attempt.at_start:
                kept = "what could be loaded is served; broken policies follow their failurePolicy"
            self.log.write(
                "error",
                "reload",
                f"the policies have errors ({len(attempt.errors)}); {kept}",
                generation=attempt.generation,
                errors=list(attempt.errors),
                quarantined=self._quarantined(),
            )

    def _quarantined(self) -> list[str]:
        """The names of the policies in use that are broken."""
        policies = self.store.current.policies
        return [policy.name for policy in policies if policy.state == "quarantined"]

    def _failed(self, error: PolicydError) -> None:
        """Log why the server cannot start."""
        if isinstance(error, PolicyError):
            errors = [str(problem) for problem in error.problems]
            message = "no policy could be loaded, so there is nothing to serve"
            self.log.write("error", "start", message, errors=errors)
        else:
            self.log.write("error", "start", str(error))

    def _malformed(self, status: int, peer: str) -> None:
        self.recorder.rejected(status, peer, "", "expected a request of HTTP/1.1")

    def _captured(self, outcome: CaptureOutcome, error: Exception | None) -> None:
        self.recorder.captured(outcome)
        if error is not None:
            message = f"cannot record requests: {error}"
            self.log.write("error", "capture", message)

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log errors that no task handled, except those of clients that disconnected."""
        error = context.get("exception")
        if isinstance(error, ssl.SSLError | OSError | TimeoutError):
            return
        self.log.write("error", "defect", context.get("message", ""), exception=repr(error))


def _connected(settings: Settings) -> "ClusterClient | None":
    """The client for cluster lookups; None if the settings name no cluster."""
    if not settings.cluster and settings.kubeconfig is None:
        return None
    # Imported here because a server without a cluster should not spend time and memory on it.
    from policyd.cluster import connect

    return connect(settings.kubeconfig, settings.timeout)


def _connections(
    settings: Settings, in_flight: InFlight, refusals: RefusalLog
) -> tuple[PortConnections, PortConnections]:
    """The connections of the review port and those of the admin port."""
    timeouts = Timeouts(
        settings.handshake_timeout,
        settings.head_timeout,
        settings.write_timeout,
        settings.keep_alive,
    )
    reviews = PortConnections(
        settings.max_connections,
        timeouts,
        settings.client_name,
        in_flight.end_incomplete,
        partial(refusals, "name"),
    )
    return reviews, PortConnections(ADMIN_CONNECTIONS, timeouts)


class _Config(Config):
    """The configuration of Hypercorn's protocols."""

    def __init__(self) -> None:
        super().__init__()
        self.accesslog = None
        self.errorlog = logging.getLogger("hypercorn.error")
        self.include_date_header = False
        self.include_server_header = False
        self.keep_alive_max_requests = sys.maxsize
        # The endpoints limit how much they read, and stop reading only after they have answered. A
        # bounded queue would then block the task of the connection forever.
        self.max_app_queue_size = 0


def _drain_seconds(settings: Settings) -> float:
    """The drain period: at most half of the grace period, so that requests can finish after it."""
    return min(settings.drain, settings.grace / 2)


def _bound(address: Address) -> socket.socket:
    """A socket that is bound to the address but does not listen yet."""
    six = ":" in address.host
    bound = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if six:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    try:
        bound.bind((address.host, address.port))
    except OSError as error:
        bound.close()
        raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from None
    bound.setblocking(False)
    return bound

"""Watches for changes while the server runs, and logs changes of certificates.

Watches policies, certificates and definitions of the cluster; reports expiring certificates;
reloads on SIGHUP.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from policyd.observability.logs import Log, LogLevel
from policyd.observability.throttle import Throttle
from policyd.server.health import WatchHealth, WatchSupervisor
from policyd.server.network.connections import PortConnections
from policyd.server.policies.file_watch import LOOK_ANYWAY, changed, fingerprint
from policyd.server.policies.store import LONGEST_RETRY_SECONDS, RETRY_SECONDS, Store
from policyd.server.signals import Signals
from policyd.tls.certificates import CertificateReload, Certificates

if TYPE_CHECKING:
    from policyd.server.callers.required_tokens import RequiredTokens
    from policyd.server.cluster.cluster_connection import ClusterConnection

# Expiry of the serving certificate: one warning per day in its last week, or in the last tenth of
# its life if it is short-lived; after expiry one error per hour.
WARN_SECONDS = 7 * 86_400.0
WARN_PART = 0.1
WARN_AGAIN_SECONDS = 86_400.0
EXPIRED_AGAIN_SECONDS = 3_600.0


@dataclass(eq=False, repr=False)
class Watcher:
    """The watches of one server."""

    store: Store
    certificates: Certificates
    connections: PortConnections
    log: Log
    _: KW_ONLY
    watches: WatchSupervisor
    cluster: "ClusterConnection | None"
    callers: "RequiredTokens | None" = None

    def __post_init__(self) -> None:
        self._warned = Throttle(WARN_AGAIN_SECONDS)
        self._expired = Throttle(EXPIRED_AGAIN_SECONDS)
        self._problems: tuple[str, ...] = ()  # why the files could not be used last time
        self._retry = RETRY_SECONDS
        self._retry_at = 0.0
        self._reloads: set[asyncio.Task[None]] = set()

    def start(self, stop: asyncio.Event, signals: Signals) -> list[asyncio.Task[None]]:
        """Watch until ``stop`` is set, on the running loop."""
        loop = asyncio.get_running_loop()
        works: dict[str, Callable[[asyncio.Event, WatchHealth], Coroutine[Any, Any, None]]] = {
            "policies": self._policies,
            "certificates": self._certificate_files,
        }
        if self.cluster is not None:
            caches = self.cluster.caches
            caches.follow(self.store.current)
            works["definitions"] = partial(self.cluster.definitions.watch, self.store)
            works["namespaces"] = caches.namespaces.run
            works["params"] = caches.params.run
            works["reads"] = caches.reads.run
        if self.callers is not None:
            works["token-keys"] = self.callers.keys.run
        tasks = []
        for name, work in works.items():
            watch = self.watches.add(name)
            keeping = self.watches.keep(watch, partial(work, stop, watch), stop)
            tasks.append(loop.create_task(keeping, name=name))
        signals.serve(self._reload, self._ignored)
        self._check_expiry()
        return tasks

    def unready(self) -> list[str]:
        """Why the server is not ready: watches that failed for too long, and unread lists."""
        waiting = () if self.cluster is None else self.cluster.caches.waiting()
        keyless = () if self.callers is None else self.callers.unready()
        return [*self.watches.stale(), *waiting, *keyless]

    async def _policies(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        await self.store.watch(stop, watch.succeeded, partial(self._degraded, watch.name))

    async def _certificate_files(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Read certificates when they change, and again at intervals while they cannot be used."""
        files = self.certificates.files
        known = fingerprint(files)
        self.read_certificates(again=True)  # they may have changed since the start

        def looked() -> None:
            watch.succeeded()
            self._check_expiry()

        states = changed(
            files,
            stop,
            known=known,
            looked=looked,
            due=lambda: bool(self._problems) and monotonic() >= self._retry_at,
            degraded=partial(self._degraded, watch.name),
        )
        async for state in states:
            again, known = state == known, state
            self.read_certificates(again=again)

    def read_certificates(self, *, again: bool = False) -> None:
        """Read the certificates. Runs on the thread of the event loop, so that new connections see
        the change between two handshakes.

        ``again``: the files have not changed since the last attempt, so the same error is not
        logged again.
        """
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS) if again else RETRY_SECONDS
        self._retry_at = monotonic() + self._retry
        change = self.certificates.reload()
        if change.problems and not (again and change.problems == self._problems):
            for problem in change.problems:
                self.log.write("error", "certificate", f"{problem}; the previous one stays in use")
        self._problems = change.problems
        closed = self.connections.close_distrusted() if change.removed else 0
        for message in _changes(change, closed):
            self.log.write("info", "certificate", message)
        if change.certificate:
            self._warned, self._expired = (
                Throttle(WARN_AGAIN_SECONDS),
                Throttle(EXPIRED_AGAIN_SECONDS),
            )
            self._check_expiry()

    def _check_expiry(self) -> None:
        """Log that the serving certificate expires soon, or has expired."""
        if not self.certificates.served:
            return
        begins, ends = self.certificates.valid
        left = ends - time()
        end = datetime.fromtimestamp(ends, UTC).isoformat()
        if left <= 0:
            if self._expired.count(""):
                message = f"the serving certificate expired at {end}; API servers refuse it"
                self.log.write("error", "certificate", message)
        elif left < min(WARN_SECONDS, WARN_PART * (ends - begins)) and self._warned.count(""):
            self.log.write("warning", "certificate", f"the serving certificate expires at {end}")

    def _reload(self) -> None:
        self.log.write("info", "signal", "SIGHUP: reloading policies and certificates")
        self.read_certificates()
        task = asyncio.get_running_loop().create_task(self.store.renew())
        self._reloads.add(task)  # the loop itself does not keep tasks alive
        task.add_done_callback(self._renewed)

    def _renewed(self, task: asyncio.Task[None]) -> None:
        self._reloads.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            message = f"the reload failed: {type(error).__name__}: {error}"
            self.log.write("error", "reload", message)

    def _ignored(self, number: signal.Signals) -> None:
        message = f"{number.name} is ignored; SIGHUP reloads policies and certificates"
        self.log.write("info", "signal", message)

    def _degraded(self, name: str, problem: str) -> None:
        level: LogLevel = "warning" if problem else "info"
        message = f"inotify watches the {name} again"
        if problem:
            message = (
                f"inotify does not work for the {name}; checking for changes every"
                f" {LOOK_ANYWAY:.0f} s: {problem}"
            )
        self.log.write(level, "watch", message, watch=name)


def _changes(change: CertificateReload, closed: int) -> Iterator[str]:
    """Messages about what a reload changed."""
    if change.certificate:
        yield "new connections use the new certificate"
    if change.added or change.removed:
        yield (
            f"the CAs of client certificates changed: {change.added} added,"
            f" {change.removed} removed; closing {closed} connections of removed CAs"
        )

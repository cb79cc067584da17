"""What a server notices by itself: changed policies, certificates and definitions, certificates
that end, clients that are refused, and signals that ask for a reload.
"""

import asyncio
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from time import monotonic, time

from policyd.observability.logs import Log, LogLevel
from policyd.observability.metrics import PrometheusRecorder
from policyd.observability.throttle import Throttle
from policyd.policy.live.store import LONGEST_RETRY_SECONDS, RETRY_SECONDS, Store
from policyd.policy.live.watch import LOOK_ANYWAY, changed, fingerprint
from policyd.server.cluster import LiveDefinitions
from policyd.server.connections import PortConnections
from policyd.server.health import WatchHealth, WatchSupervisor
from policyd.server.signals import Signals
from policyd.tls.certificates import CertificateReload, Certificates
from policyd.tls.handshakes import Refusal

# Before the serving certificate ends: a warning a day in its last week, or in the last tenth of the
# life of one that is made for days; afterwards an error an hour.
WARN_SECONDS = 7 * 86_400.0
WARN_PART = 0.1
WARN_AGAIN_SECONDS = 86_400.0
EXPIRED_AGAIN_SECONDS = 3_600.0
# Refused clients: a line a minute for each reason, with their number.
REFUSED_AGAIN_SECONDS = 60.0


class RefusalLog:
    """Counts and logs clients that were refused."""

    def __init__(self, recorder: PrometheusRecorder, log: Log) -> None:
        self._recorder = recorder
        self._log = log
        self._throttle = Throttle(REFUSED_AGAIN_SECONDS)

    def __call__(self, reason: Refusal, message: str = "") -> None:
        """One client. Those that speak no TLS, or one too old, are counted alone: scanners."""
        self._recorder.refused(reason)
        if reason == "protocol":
            return
        count = self._throttle.count(reason)
        if count:
            text = f"a client was refused: {message or reason}"
            self._log.write("warning", "refused", text, reason=reason, count=count)


class Watcher:
    """The watches of one server."""

    def __init__(
        self,
        store: Store,
        certificates: Certificates,
        connections: PortConnections,
        log: Log,
        *,
        grace: float,
        definitions: LiveDefinitions | None = None,
    ) -> None:
        self._store = store
        self._certificates = certificates
        self._connections = connections
        self._definitions = definitions
        self._log = log
        self.watches = WatchSupervisor(grace, self._failed)
        self._trouble = Throttle(REFUSED_AGAIN_SECONDS)
        self._warned = Throttle(WARN_AGAIN_SECONDS)
        self._expired = Throttle(EXPIRED_AGAIN_SECONDS)
        self._problems: tuple[str, ...] = ()  # why files were not used last
        self._retry = RETRY_SECONDS
        self._retry_at = 0.0
        self._reloads: set[asyncio.Task[None]] = set()

    def start(self, stop: asyncio.Event, signals: Signals) -> list[asyncio.Task[None]]:
        """Watch until ``stop`` is set, on the running loop."""
        loop = asyncio.get_running_loop()
        works = {"policies": self._policies, "certificates": self._files}
        if self._definitions is not None:
            works["definitions"] = self._of_cluster
        tasks = []
        for name, work in works.items():
            watch = self.watches.add(name)
            keeping = self.watches.keep(watch, partial(work, stop, watch), stop)
            tasks.append(loop.create_task(keeping, name=name))
        signals.serve(self._asked, self._ignored)
        self._ageing()
        return tasks

    async def _policies(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        await self._store.watch(stop, watch.succeeded, partial(self._degraded, watch.name))

    async def _of_cluster(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        assert self._definitions is not None
        await self._definitions.watch(self._store, stop, watch)

    async def _files(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Certificates: read when they change, and now and then while they cannot be used."""
        files = self._certificates.files
        known = fingerprint(files)
        self._read(again=True)  # what changed since they were read at start
        states = changed(
            files,
            stop,
            known=known,
            looked=partial(self._files_looked, watch),
            due=lambda: bool(self._problems) and monotonic() >= self._retry_at,
            degraded=partial(self._degraded, watch.name),
        )
        async for state in states:
            again, known = state == known, state
            self._read(again=again)

    def _files_looked(self, watch: WatchHealth) -> None:
        watch.succeeded()
        self._ageing()

    def _read(self, *, again: bool) -> None:
        """On the loop's thread: what new connections meet changes between two handshakes.

        ``again``: nothing is known to have changed; the same error once more is no news.
        """
        self._retry = min(2 * self._retry, LONGEST_RETRY_SECONDS) if again else RETRY_SECONDS
        self._retry_at = monotonic() + self._retry
        change = self._certificates.reload()
        if change.problems and not (again and change.problems == self._problems):
            for problem in change.problems:
                self._log.write("error", "certificate", f"{problem}; what is in use stays")
        self._problems = change.problems
        closed = self._connections.close_distrusted() if change.removed else 0
        for text in _changes(change, closed):
            self._log.write("info", "certificate", text)
        if change.certificate:
            self._warned, self._expired = (
                Throttle(WARN_AGAIN_SECONDS),
                Throttle(EXPIRED_AGAIN_SECONDS),
            )
            self._ageing()

    def _ageing(self) -> None:
        """Say that the serving certificate ends soon, or has ended."""
        begins, ends = self._certificates.valid
        left = ends - time()
        end = datetime.fromtimestamp(ends, UTC).isoformat()
        if left <= 0:
            if self._expired.count(""):
                text = f"the serving certificate expired at {end}: API servers refuse it"
                self._log.write("error", "certificate", text)
        elif left < min(WARN_SECONDS, WARN_PART * (ends - begins)) and self._warned.count(""):
            self._log.write("warning", "certificate", f"the serving certificate expires at {end}")

    def _asked(self) -> None:
        self._log.write("info", "signal", "SIGHUP: reading policies and certificates again")
        self._read(again=False)
        task = asyncio.get_running_loop().create_task(self._store.renew())
        self._reloads.add(task)  # the loop itself keeps no task alive
        task.add_done_callback(self._renewed)

    def _renewed(self, task: asyncio.Task[None]) -> None:
        self._reloads.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            text = f"the reload failed: {type(error).__name__}: {error}"
            self._log.write("error", "reload", text)

    def _ignored(self, number: signal.Signals) -> None:
        text = f"{number.name} is ignored; SIGHUP reads policies and certificates again"
        self._log.write("info", "signal", text)

    def _failed(self, name: str, problem: str) -> None:
        count = self._trouble.count(name + problem)
        if count:
            text = f"changes of the {name} are not noticed at the moment: {problem}"
            self._log.write("error", "watch", text, watch=name, count=count)

    def _degraded(self, name: str, problem: str) -> None:
        level: LogLevel = "warning" if problem else "info"
        text = f"changes of the {name} are noticed by inotify again"
        if problem:
            text = (
                f"inotify does not work for the {name}; changes are noticed within"
                f" {LOOK_ANYWAY:.0f} s: {problem}"
            )
        self._log.write(level, "watch", text, watch=name)


def _changes(change: CertificateReload, closed: int) -> Iterator[str]:
    """What a reload changed, in words."""
    if change.certificate:
        yield "new connections get the new certificate"
    if change.added or change.removed:
        yield (
            f"the authorities of client certificates changed: {change.added} added,"
            f" {change.removed} removed; {closed} open connections of removed ones are closed"
        )

"""The server of one of several workers, as far as it differs from a single server."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from traceback import format_exception
from typing import Any

from policyd.config import Settings
from policyd.http.denials import NONE, RecentDenials
from policyd.http.limits import InFlight
from policyd.http.policies_in_use import Reload
from policyd.http.status import MetricsRenderer, ProcessView, Render, RenderCache
from policyd.observability.metrics import Exposition
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import Bundle
from policyd.server.composition import Server
from policyd.server.network.listen import Listener, Serve
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.server.policy_evaluator import Evaluate
from policyd.server.workers.board import Board
from policyd.server.workers.channel import Channel, WorkerMessage
from policyd.server.workers.listening import SharedListener
from policyd.server.workers.preloading import Preloaded
from policyd.server.workers.processes import WriteLock
from policyd.server.workers.summing import MetricFamily, families_of
from policyd.tls.certificates import PairSource

# How often a worker reports its state and, if requests were answered, its metrics.
REPORT_SECONDS = 1.0
# The share of time that sending metrics without a scrape may take.
REPORTING_PART = 0.01
# How often draining workers compare when the last request arrived.
DRAIN_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class SharedByWorkers:
    """The state that a worker gets from its supervisor. ``number`` counts from 0."""

    number: int
    sockets: tuple[socket.socket, ...]  # of the review port and the admin port
    connection: socket.socket
    board: Board
    certificate: PairSource | None
    preloaded: Preloaded
    write_lock: int
    edit_lock: int


class Worker(Server):
    """A server that shares its ports, and answers on the admin port for all workers."""

    def __init__(
        self,
        shared: SharedByWorkers,
        settings: Settings,
        loader: PolicyLoader,
        evaluate: Evaluate,
    ) -> None:
        self._shared = shared
        self._channel = Channel(shared.connection)
        self._appointed = asyncio.Event()
        self._snapshot = RenderCache[Any]()
        self._pages: dict[str, tuple[bytes, str]] = {}
        self._of_all = AllWorkers(self._ask)
        self._reported_at, self._reported = 0.0, -1
        self._pause = REPORT_SECONDS
        self._listener: SharedListener | None = None
        super().__init__(
            settings,
            loader,
            evaluate,
            certificate=shared.certificate,
            appointed=self._appointed,
            turn=WriteLock(shared.edit_lock),
            process=self._of_all,
        )
        self.log.always["worker"] = self.denials.always["worker"] = shared.number
        if self._writer is not None:
            self._writer.turn = WriteLock(shared.write_lock)
        self._channel.built()

    # Overrides of Server's methods.

    def _load(self, given: Sequence[Path | Bundle]) -> LoadedSet:
        return self._shared.preloaded.take(given, self._version) or super()._load(given)

    def _end(self, number: signal.Signals) -> None:
        """Drain if the supervisor does: a worker that drains alone would close the shared port."""
        if self._shared.board.stopping:
            super()._end(number)
            return
        message = f"{number.name} is ignored by a worker; send it to the supervisor"
        self.log.write("warning", "signal", message, supervisor=os.getppid())

    def _bound(self) -> tuple[socket.socket, socket.socket]:
        reviews, admin = self._shared.sockets
        return reviews, admin

    def _review_listener(self, listening: socket.socket, serve: Serve) -> Listener:
        self._listener = SharedListener(
            listening,
            self.connections,
            serve,
            lambda: self.certificates.context,
            board=self._shared.board,
            worker=self._shared.number,
        )
        return self._listener

    def _exposition(self, in_flight: InFlight) -> MetricsRenderer:
        own = super()._exposition(in_flight)
        assert isinstance(own, Exposition)
        self._own = own
        return _Gathered(self._pages)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        listening = self._channel.run(await self._channel.open(), self._told)
        self._report()
        tasks = [loop.create_task(each) for each in (listening, self._report_often())]
        for each in tasks:
            each.add_done_callback(self._broken)
        await super()._main()
        self._report()
        for each in tasks:
            each.remove_done_callback(self._broken)
            each.cancel()
        await self._channel.close()

    def _listening(self, *sockets: socket.socket) -> None:
        super()._listening(*sockets)
        self._report()

    def _reloaded(self, attempt: Reload) -> None:
        super()._reloaded(attempt)
        self._report()

    async def _quiet(self) -> None:
        """Wait until no worker has received a request for ``--drain``, or for SIGINT. All workers
        close the port at once, because it is one socket.
        """
        board, number, connections = self._shared.board, self._shared.number, self.connections
        loop = asyncio.get_running_loop()
        end = loop.time() + self.settings.longest_drain
        quiet = min(self.settings.drain, self.settings.longest_drain)
        board.requested(number, connections.last_request)
        while not (board.closing or self._interrupted.is_set()) and loop.time() < min(
            board.last_request + quiet, end
        ):
            await asyncio.sleep(DRAIN_SECONDS)
            board.requested(number, connections.last_request)
        board.close_ports()

    # Reports and requests of this worker.

    def _told(self, message: WorkerMessage) -> None:
        if "appointed" in message:
            self._appointed.set()
            self._changed()
        if "give" in message:
            self._channel.send(gave=message["give"], **self._had(message["of"]))

    def _had(self, what: str) -> dict[str, Any]:
        """The data of this worker that the supervisor queries."""
        if what != "denials":
            return {"metrics": self._metrics()}
        return {"denials": tuple(self._snapshot.get("denials", self.denials.recent))}

    def _metrics(self) -> list[MetricFamily]:
        """The metrics of this worker, as recent as its share of time for them allows."""
        found: list[MetricFamily] = self._snapshot.get(
            "metrics", lambda: families_of(self._own.families())
        )
        return found

    def _state(self) -> dict[str, Any]:
        loaded = self.store.loaded
        missing = [
            self.store.unready,
            "" if self.lifecycle.listening else "not listening",
            *self._unready(),
        ]
        return {
            "serving": self.lifecycle.listening,
            "missing": [reason for reason in missing if reason],
            "generation": self.store.current.generation if loaded else "",
            "began": self.recorder.last_successful_reload or 1.0,
        }

    def _report(self) -> None:
        self._channel.send(state=self._state())

    async def _report_often(self) -> None:
        """Report the state every second, and the metrics if they changed and are cheap."""
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            if self._listener is not None and not self.lifecycle.draining:
                self._listener.note()
            requests, now = sum(self.recorder.requests.values()), perf_counter()
            if requests == self._reported or now < self._reported_at + self._pause:
                self._report()
                continue
            metrics = self._metrics()
            self._channel.send(state=self._state(), metrics=metrics)
            self._reported, self._reported_at = requests, now
            self._pause = max(REPORT_SECONDS, (perf_counter() - now) / REPORTING_PART)

    def _broken(self, task: "asyncio.Task[Any]") -> None:
        """End this worker, which lost its supervisor or hit a defect, so that it is restarted."""
        if task.cancelled():
            return  # the server could not start
        error = task.exception()
        if error is not None:
            trace = "".join(format_exception(error))
            self.log.write("error", "defect", "a worker ends", traceback=trace)
        self._settle_log()
        os._exit(1)

    async def _ask(self, path: str, accept: bytes) -> None:
        """Request the data for an answer on the admin port from the supervisor."""
        if path == "/readyz":
            self._of_all.missing = (await self._channel.ask("ready", state=self._state()))[
                "missing"
            ]
        elif path == "/metrics":
            kind = "openmetrics" if b"openmetrics" in accept else "prometheus"
            answer = await self._channel.ask(
                kind, accept=accept.decode("latin-1"), metrics=self._metrics()
            )
            self._pages[kind] = answer["page"], answer["type"]
        elif path == "/policies" or path.startswith("/policies/"):
            answer = await self._channel.ask("policies", metrics=self._metrics())
            self._of_all.counters = answer["counters"]
        if path == "/denials" or path.startswith("/policies/"):
            answer = await self._channel.ask("denials", **self._had("denials"))
            self._of_all.recent = RecentDenials(*answer["denials"])


class AllWorkers(ProcessView):
    """The supervisor's last report about all workers; ``ask`` requests it."""

    def __init__(self, ask: Callable[[str, bytes], Awaitable[None]]) -> None:
        super().__init__(lambda: self.recent)
        self._ask = ask
        self.missing: Sequence[str] = ()
        self.counters: Mapping[str, Any] = {}
        self.recent = NONE

    async def prepare(self, path: str, accept: bytes) -> None:
        """Request the data for an answer from the supervisor."""
        await self._ask(path, accept)

    def readiness(self, missing: Sequence[str]) -> Sequence[str]:
        """Return why not all workers are ready."""
        return self.missing

    def counted(self, policies: CompiledPolicySet, names: Container[str]) -> Mapping[str, Any]:
        """Return the counts of all workers."""
        return {name: row for name, row in self.counters.items() if name in names}


class _Gathered:
    """The last ``/metrics`` page of the supervisor, by format."""

    def __init__(self, pages: Mapping[str, tuple[bytes, str]]) -> None:
        self._pages = pages

    def prepare(self, accept: str) -> Render:
        """Return a function that returns the body and its Content-Type."""
        page = self._pages["openmetrics" if "openmetrics" in accept else "prometheus"]
        return lambda: page

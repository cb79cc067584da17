"""The supervisor's view of its workers, and answers that combine all of them: metrics, counts of
policies, recent denials.

A worker queries it to answer a request on the admin port. Starts and ends no process.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from policyd.http.denials import NONE, RecentDenials, merged
from policyd.http.status import RenderCache
from policyd.server.workers.channel import WorkerMessage
from policyd.server.workers.summing import MetricFamily, Sums

# How long to wait for the data of a worker, before using the data that it sent last.
GATHER_SECONDS = 1.0

SendToWorker = Callable[[int, WorkerMessage], None]


@dataclass
class WorkerState:
    """The last report of a worker. ``began`` is when it started to use its set of policies."""

    serving: bool = False
    missing: list[str] = field(default_factory=lambda: ["starting"])
    generation: str = ""
    began: float = 0.0


@dataclass
class _Gathering:
    """A query that waits for the data of other workers."""

    asker: int
    question: WorkerMessage
    waiting: set[int]
    until: float


@dataclass(eq=False, repr=False)
class Hub:
    """The states, metrics and denials of the workers. ``own`` returns the metrics of the
    supervisor.
    """

    workers: int
    send: SendToWorker
    own: Callable[[], Iterable[MetricFamily]] = tuple
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._sums = Sums()
        self._pages = RenderCache[tuple[bytes, str]]()
        self._denials: dict[int, RecentDenials] = {}
        self._gatherings: dict[int, _Gathering] = {}
        self._questions = 0
        self.states: dict[int, WorkerState] = {}
        self.restarts = 0
        # Whether all workers have served at the same time since the start.
        self.complete = False

    @property
    def serving(self) -> list[int]:
        """The workers that answer requests."""
        return [worker for worker, state in self.states.items() if state.serving]

    @property
    def running(self) -> list[int]:
        """The workers that have reported, serving ones first."""
        found = [worker for worker, state in self.states.items() if state.began]
        return sorted(found, key=lambda worker: (not self.states[worker].serving, worker))

    @property
    def generations(self) -> set[str]:
        """The sets of policies that workers use."""
        return {self.states[worker].generation for worker in self.serving}

    def began(self, worker: int) -> None:
        """A worker was started."""
        self.states[worker] = WorkerState()

    def ended(self, worker: int) -> None:
        """Forget a worker that has ended: no query waits for it any more."""
        self.states.pop(worker, None)
        self._sums.end(worker)
        self._denials.pop(worker, None)
        for number, each in list(self._gatherings.items()):
            if each.asker == worker:
                del self._gatherings[number]
            else:
                self._gave(number, worker)

    def receive(self, worker: int, message: WorkerMessage) -> None:
        """Handle a message of a worker."""
        if worker not in self.states:
            return
        if "state" in message:
            self.states[worker] = WorkerState(**message["state"])
            self.complete = self.complete or len(self.serving) == self.workers
        if "metrics" in message:
            self._sums.take(worker, message["metrics"])
        if "denials" in message:
            self._denials[worker] = RecentDenials(*message["denials"])
        if "gave" in message:
            self._gave(message["gave"], worker)
        if message.get("ask") == "ready":
            self._answer(worker, message, missing=self.missing)
        elif "ask" in message:
            self._gather(worker, message)

    @property
    def missing(self) -> list[str]:
        """Why the server is not ready. While some workers restart, the others decide."""
        asked = self.serving if self.complete else range(self.workers)
        reasons = [
            reason for worker in asked for reason in self.states.get(worker, WorkerState()).missing
        ]
        if self.complete and not self.serving:
            reasons.append("no worker serves")
        return list(dict.fromkeys(reasons))

    @property
    def next_deadline(self) -> float | None:
        """When to call ``expire`` next."""
        return min((each.until for each in self._gatherings.values()), default=None)

    def expire(self) -> None:
        """Answer queries without the workers that do not respond."""
        now = self.clock()
        for number, each in list(self._gatherings.items()):
            if each.until <= now:
                self._finish(number)

    def _gather(self, asker: int, question: WorkerMessage) -> None:
        self._questions += 1
        waiting = {worker for worker in self.running if worker != asker}
        until = self.clock() + GATHER_SECONDS
        self._gatherings[self._questions] = _Gathering(asker, question, waiting, until)
        for worker in waiting:
            self.send(worker, {"give": self._questions, "of": question["ask"]})
        if not waiting:
            self._finish(self._questions)

    def _gave(self, number: int, worker: int) -> None:
        gathering = self._gatherings.get(number)
        if gathering is not None:
            gathering.waiting.discard(worker)
            if not gathering.waiting:
                self._finish(number)

    def _finish(self, number: int) -> None:
        gathering = self._gatherings.pop(number)
        kind = gathering.question["ask"]
        if kind == "policies":
            self._answer(gathering.asker, gathering.question, counters=self._sums.of_policies())
            return
        if kind == "denials":
            found = merged(self._denials.get(each, NONE) for each in self.running)
            self._answer(gathering.asker, gathering.question, denials=tuple(found))
            return
        accept = gathering.question["accept"]
        page, content_type = self._pages.get(
            kind, lambda: self._sums.page(accept, self._oldest(), self._families())
        )
        self._answer(gathering.asker, gathering.question, page=page, type=content_type)

    def _oldest(self) -> int | None:
        """The worker that loaded its set of policies first."""
        return min(self.serving, key=lambda worker: self.states[worker].began, default=None)

    def _families(self) -> Iterable[MetricFamily]:
        yield from self.own()
        serving = len(self.serving)
        rows = {"serving": serving, "starting": self.workers - serving}
        yield (
            "policyd_workers",
            "Worker processes, by state.",
            "gauge",
            "",
            [("policyd_workers", {"state": each}, float(count)) for each, count in rows.items()],
        )
        for name, doc, kind, value in (
            ("policyd_worker_restarts", "Workers that died and were restarted.", "counter",
             self.restarts),
            ("policyd_worker_generations", "Different sets of policies that workers use.", "gauge",
             len(self.generations)),
        ):  # fmt: skip
            sample = name + ("_total" if kind == "counter" else "")
            yield name, doc, kind, "", [(sample, {}, float(value))]

    def _answer(self, worker: int, question: WorkerMessage, **content: Any) -> None:
        self.send(worker, {"answer": question["number"], **content})

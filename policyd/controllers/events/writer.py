"""Writes Events of the API ``core/v1`` about denied requests.

Events of ``events.k8s.io/v1`` have a ``series`` instead of ``count``, and no ``lastTimestamp``, by
which ``kubectl describe`` and ``kubectl get events --sort-by=.lastTimestamp`` sort: even new ones
come before all others. Kubelets and most controllers write ``core/v1``, and every tool shows its
count. The API server serves each Event in both APIs.

Events are written with server-side apply: the first write creates an Event, later ones change its
count, and recreate it if the API server has deleted it (by default after an hour).
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic, time
from urllib.parse import quote

from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.bounded_text import encodable_tree
from policyd.cluster.client import PASSING
from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.controller import FORBIDDEN, Controller, Trouble, reason
from policyd.controllers.events.denials import reported
from policyd.controllers.events.series import EventQuota, EventSeries, EventTable
from policyd.controllers.waiting import until_any
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.throttle import Throttle
from policyd.ownership import LABELS, MANAGER, POLICYD

RESULTS = ("written", "dropped", "failed")
# How often series are examined while one waits for its turn, and the shortest time between two
# examinations.
TICK_SECONDS, SHORTEST_SECONDS = 1.0, 0.05
# How often quiet series are forgotten if there is no work.
IDLE_SECONDS = 60.0
# Pauses while the API server accepts no Events; each is twice as long as the previous one.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
# Attempts to write an Event before it is dropped.
MOST_ATTEMPTS = 5
# Time for the remaining Events when the server stops.
LAST_SECONDS = 2.0
# Seconds between log lines about single refused Events.
REFUSED_SECONDS = 60.0
_LONGEST_INSTANCE = 128  # of reportingInstance


@dataclass(eq=False, repr=False)
class EventWriter(Controller):
    """Reports the denials of one process. ``counts`` counts denials that were written, dropped for
    lack of room or time, and refused by the API server. While the process is ``draining``, Events
    are not retried: they may also pass through this webhook, which is about to end.
    """

    name = "Events"

    client: ObjectClient
    log: Log
    counts: dict[str, int]
    _: KW_ONLY
    draining: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = monotonic
    wall: Callable[[], float] = time

    def __post_init__(self) -> None:
        super().__init__()
        self._table = EventTable(clock=self.clock, wall=self.wall)
        self._quota = EventQuota(self.clock)
        self._waiting = asyncio.Event()
        self._trouble = Trouble("events", self.log)
        self._refusals = Throttle(REFUSED_SECONDS, self.clock)
        self._pause = 0.0  # while the API server is in trouble: seconds until the next attempt
        self._instance = os.uname().nodename[:_LONGEST_INSTANCE]  # the name of the Pod

    def note(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Add a policy's effect: a listener of the recorder, called for each request. Does bounded
        work in memory; another task writes.
        """
        denial = reported(request, event)
        if denial is None:
            return
        series = self._table.add(denial)
        if series is None:
            self.counts["dropped"] += 1
        elif series.pending == 1:
            self._waiting.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Write until ``stop`` is set, and then the rest, as long as ``close`` allows."""
        while not stop.is_set():
            self._waiting.clear()
            await self.write_due()
            self._table.forget_quiet()
            self._quota.tidy()
            await self._rest(stop)
        if not self._pause:
            await self.write_all()

    async def close(self, task: "asyncio.Task[None]") -> None:
        """Wait, for a bounded time, for the task that runs this; count unwritten denials."""
        await asyncio.wait([task], timeout=LAST_SECONDS)
        task.cancel()
        await asyncio.wait([task])
        lost = self._table.pending
        if lost:
            self.counts["dropped"] += lost
            self.log.write("warning", "events", f"{lost} denials were not reported as Events")

    async def write_due(self) -> None:
        """Write the series whose turn it is, until the API server has a problem."""
        table = self._table
        for series in table.waiting() if self.draining() else table.due():
            if not self._quota.take(series.denial.namespace):
                continue
            await self._write(series)
            if self._pause:
                return

    async def write_all(self) -> None:
        """Write all waiting series at once."""
        for series in self._table.waiting():
            await self._write(series)
            if self._pause:
                return

    async def _rest(self, stop: asyncio.Event) -> None:
        """Wait for work, or for the next attempt."""
        if self._pause:
            await until_any(stop, seconds=self._pause)
            return
        await until_any(stop, seconds=SHORTEST_SECONDS)
        seconds = TICK_SECONDS if self._table.pending else IDLE_SECONDS
        await until_any(stop, self._waiting, seconds=seconds)

    async def _write(self, series: EventSeries) -> None:
        count, namespace = series.count, quote(series.denial.namespace, safe="")
        path = f"api/v1/namespaces/{namespace}/events/{series.name}"
        body = event_of(series, self._instance)
        try:
            await self.client.apply(path, body, MANAGER, force=True)
        except ObjectError as error:
            self._failed(series, error)
            return
        self._recovered()
        self.counts["written"] += self._table.wrote(series, count)

    def _failed(self, series: EventSeries, error: ObjectError) -> None:
        """Handle an Event that could not be written."""
        passing = error.status == 0 or error.status in PASSING
        gone = error.status == HTTPStatus.NOT_FOUND or error.is_of_ending_namespace
        if passing or (error.status == FORBIDDEN and not gone):
            self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
            self._trouble.begin(f"cannot write Events: {reason(error)}")
        else:
            self._recovered()
            refused = 0 if gone else self._refusals.count("refused")
            if refused:
                message = f"an Event was refused: {error}"
                self.log.write("warning", "events", message, count=refused)
        series.attempts += 1
        if not passing or series.attempts >= MOST_ATTEMPTS:
            self.counts["failed"] += self._table.remove(series)

    def _recovered(self) -> None:
        """Record that the API server accepts Events, even if not each one."""
        self._pause = 0.0
        self._trouble.end("Events can be written again")


def event_of(series: EventSeries, instance: str) -> JSONObject:
    """Return the current Event of a series."""
    denial = series.denial
    about = denial.regarding
    reference = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
    }
    body: JSONObject = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": series.name, "namespace": denial.namespace, "labels": LABELS},
        "involvedObject": {field: value for field, value in reference.items() if value},
        "type": "Warning",
        "reason": denial.reason,
        "action": "Deny",
        "message": denial.note,
        "count": series.count,
        "firstTimestamp": _timestamp(series.first),
        "lastTimestamp": _timestamp(series.last),
        "source": {"component": POLICYD},
        "reportingComponent": POLICYD,
        "reportingInstance": instance,
    }
    shown: JSONObject = encodable_tree(body)
    return shown


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

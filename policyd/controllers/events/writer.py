"""Writes Events of the API ``core/v1`` about denied requests.

Events of ``events.k8s.io/v1`` have a ``series`` in place of ``count``, and no ``lastTimestamp``, by
which ``kubectl describe`` and ``kubectl get events --sort-by=.lastTimestamp`` sort: however new
they are, they come before all others. ``core/v1`` is what kubelets and most controllers write, and
every tool shows its count. The API server serves each Event in both APIs.

An Event is written by server-side apply: the first write creates it, later ones change its count,
and one that the API server deleted meanwhile (after an hour, by default) is created again.
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
# How often series are examined while one waits for its turn, and at most how soon after the last
# time.
TICK_SECONDS, SHORTEST_SECONDS = 1.0, 0.05
# Without work: when quiet series are forgotten.
IDLE_SECONDS = 60.0
# Pauses while the API server does not accept any Event; each is twice as long as the one before.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
# An Event that could not be written so often is given up.
MOST_ATTEMPTS = 5
# At the end of the server, for what is still to be written.
LAST_SECONDS = 2.0
# Between log lines about Events that the API server refuses one by one.
REFUSED_SECONDS = 60.0
_LONGEST_INSTANCE = 128  # of reportingInstance


@dataclass(eq=False, repr=False)
class EventWriter(Controller):
    """Reports the denials of one process. ``counts``: how many were written, dropped because there
    was no room or no time, and refused by the API server. While the process is ``draining``, Events
    do not wait to be written again: they may also pass this webhook, which is about to end.
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
        """Note what a policy did: a listener of the recorder, called for each request. Bounded work
        in memory; another task writes.
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
        """Write until ``stop`` is set, then what is left, as long as ``close`` lets it."""
        while not stop.is_set():
            self._waiting.clear()
            await self.write_due()
            self._table.forget_quiet()
            self._quota.tidy()
            await self._rest(stop)
        if not self._pause:
            await self.write_all()

    async def close(self, task: "asyncio.Task[None]") -> None:
        """Let the task that runs this end, within a bounded time; count what it leaves."""
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
        """Write every series that waits, at once."""
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
        """An Event could not be written, or none can be."""
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
        """The API server accepts Events, even if not each one."""
        self._pause = 0.0
        self._trouble.end("Events can be written again")


def event_of(series: EventSeries, instance: str) -> JSONObject:
    """Return the Event of a series as it is now."""
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

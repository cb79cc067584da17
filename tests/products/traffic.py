"""Steady dry runs of requests that violate a policy, and of good ones, with counts for each minute:
what was admitted, and which product denied. No tests here.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from time import monotonic

from policyd.json_types import JSONObject
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.products.requests import (
    DEFAULT,
    GOOD,
    NAMESPACES,
    OLD,
    VIOLATIONS,
    mutated,
    placed,
)
from tests.server.process import until

PAUSE = 0.1  # seconds from one request to the next
_MINUTE = 60.0
_REJECTED = re.compile(
    r'apiserver_admission_webhook_rejection_count\{.*error_type="no_error",name="([^"]+)".*\} (\d+)'
)
_DENIED = re.compile(r"policy '[^']+' denied request|was blocked due to the following policies")
_COLUMNS = (
    "violating", "by Kyverno", "by policyd", "by both", "admitted", "good", "denied", "not mutated",
)  # fmt: skip


@dataclass(slots=True)
class Minute:
    """What happened in one minute, and the steps that it belongs to."""

    counts: Counter[str] = field(default_factory=Counter)
    steps: list[str] = field(default_factory=list)


class Traffic:
    """One client that sends both kinds of objects in turn; every object violates another policy."""

    def __init__(self, api: Cluster) -> None:
        self.minutes: list[Minute] = []
        self.faults: list[str] = []
        self._step = "Kyverno alone"
        self._sent = 0
        self._client = Client(api)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._objects = _objects()
        self._rejected = self._rejections()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send until the end of the block; the counts of the last minute are complete then."""
        self._thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            self._thread.join()

    def step(self, name: str) -> None:
        """Name what is done from now on."""
        self._step = name
        if self.minutes:
            self._note()

    def round(self) -> None:
        """Wait until every object was sent in every namespace from now on."""
        wanted = self._sent + 2 * len(VIOLATIONS) * len(NAMESPACES)
        until(lambda: self._sent >= wanted or not self._thread.is_alive(), "a round", 600)
        assert self._thread.is_alive(), self.faults

    def table(self) -> str:
        """A row for each minute."""
        rows = [
            f"| {number} | {' | '.join(str(each.counts[name]) for name in _COLUMNS)} | "
            f"{'; '.join(each.steps)} |"
            for number, each in enumerate(self.minutes, 1)
        ]
        head = f"| minute | {' | '.join(_COLUMNS)} | steps |"
        return "\n".join([head, "|--:" * (len(_COLUMNS) + 1) + "|---|", *rows])

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._minute()
        finally:
            self._client.close()

    def _minute(self) -> None:
        self.minutes.append(Minute())
        self._note()
        end, counts = monotonic() + _MINUTE, self.minutes[-1].counts
        while monotonic() < end and not self._stopped.is_set():
            begun = monotonic()
            self._send(counts)
            self._stopped.wait(max(0, PAUSE - (monotonic() - begun)))
        before, self._rejected = self._rejected, self._rejections()
        new = self._rejected - before
        denied = counts["violating"] - counts["admitted"] + counts["denied"]
        counts["by policyd"] = sum(new[name] for name in new if name.endswith("policyd.dev"))
        counts["by Kyverno"] = sum(new[name] for name in new if "kyverno.svc" in name)
        counts["by both"] = counts["by policyd"] + counts["by Kyverno"] - denied

    def _note(self) -> None:
        steps = self.minutes[-1].steps
        if self._step not in steps:
            steps.append(self._step)

    def _send(self, counts: Counter[str]) -> None:
        violating, thing = next(self._objects)
        answer = _sent(self._client, thing)
        self._sent += 1
        denied = answer.status not in (200, 201)
        counts["violating" if violating else "good"] += 1
        fault = ""
        if denied and not (violating and _DENIED.search(answer.message)):
            counts["denied"] += not violating
            fault = answer.message
        elif violating and not denied:
            counts["admitted"] += 1
            fault = "admitted"
        elif not violating and not mutated(answer.body):
            counts["not mutated"] += 1
            fault = "not mutated"
        if fault:
            place = f"{thing['kind']} {thing['metadata']['name']}"
            self.faults.append(f"minute {len(self.minutes)}, {self._step}: {place}: {fault}")

    def _rejections(self) -> Counter[str]:
        """The denials of each webhook, as the API server counts them: also those that it did not return
        because another webhook denied first.
        """
        found: Counter[str] = Counter()
        for name, number in _REJECTED.findall(_text(self._client.send("GET", "/metrics"))):
            found[name] += int(number)
        return found


def _sent(client: Client, thing: JSONObject) -> Answer:
    if thing is OLD:
        return client.patch(OLD, {"metadata": {"labels": {"changed": "yes"}}}, dryRun="All")
    return client.create(thing, dryRun="All")


def _text(answer: Answer) -> str:
    return str(answer.body["message"])


def _objects() -> Iterator[tuple[bool, JSONObject]]:
    """Yield violating and good objects in turn, in every namespace one after the other."""
    good = cycle([OLD, *(placed(each, "good", where) for where in NAMESPACES for each in GOOD)])
    for number, where in enumerate(cycle(NAMESPACES)):
        for path, thing in VIOLATIONS.items():
            place = "default" if path == DEFAULT else where
            yield True, placed(thing, f"{path.rpartition('/')[2]}-{number}", place)
            yield False, next(good)


def settled(client: Client) -> Sequence[str]:
    """The objects that are not answered as they should be: good ones denied, or others admitted."""
    wrong = []
    for path, thing in VIOLATIONS.items():
        where = "default" if path == DEFAULT else "shop"
        answer = client.create(placed(thing, "probe", where), dryRun="All")
        if answer.status == 201 or not _DENIED.search(answer.message):
            wrong.append(f"{path}: {answer.body.get('message', 'admitted')}")
    for thing in GOOD:
        answer = client.create(placed(thing, "probe", "shop"), dryRun="All")
        if answer.status != 201 or not mutated(answer.body):
            wrong.append(f"{thing['kind']}: {answer.body.get('message', 'not mutated')}")
    return wrong

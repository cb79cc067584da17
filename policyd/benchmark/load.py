"""Load on a server: closed loop (each connection sends when it is answered) or open loop (requests
begin at a fixed rate, however slow the answers are). Understands no metrics.

Connections are threads: their sleeps end within a tenth of a millisecond, those of event loops only
within one.
"""

import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from policyd.benchmark.client import TIMEOUT, LoadConnection, LoadTarget, Prepared, RequestFailed

_PAUSE = 0.05  # seconds after a failure, so that a server that is gone is not flooded
UNSENT = "not sent: all connections were busy"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a server is loaded. ``rate`` is requests a second of an open loop; None: closed loop.
    ``warm_up`` comes before ``rounds`` of equal length.
    """

    connections: int
    seconds: float
    warm_up: float
    rounds: int
    rate: float | None = None


@dataclass(slots=True)
class LoadRound:
    """What was answered in one round: seconds of each request, and failures by their kind."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    denied: int = 0
    failures: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Event:
    """A request that ended. ``at`` is when it should have begun in an open loop, else its end."""

    at: float
    latency: float
    denied: bool = False
    failure: str = ""


def load(
    target: LoadTarget,
    requests: Sequence[Prepared],
    options: LoadOptions,
    boundary: Callable[[int], None],
) -> list[LoadRound]:
    """Load a server, and return its rounds. ``boundary`` is called at the beginning of each round,
    with its number, and at the end of the last one.
    """
    start = time.perf_counter()
    begin = start + options.warm_up
    end = begin + options.seconds
    if options.rate is None:
        # Connections begin at different requests.
        clients = [
            _Client(target, requests, len(requests) * each // options.connections)
            for each in range(options.connections)
        ]
        runs = [partial(each.closed, end=end) for each in clients]
    else:
        clients = [_Client(target, requests) for _ in range(options.connections)]
        warm_up = _Schedule(options.rate, start, begin)
        measured = _Schedule(options.rate, begin, end)
        runs = [partial(each.open, warm_up, measured) for each in clients]
    stop = threading.Event()
    threads = [threading.Thread(target=run, args=(stop,), daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    planned = [
        begin + options.seconds * number / options.rounds for number in range(options.rounds + 1)
    ]
    times = []
    try:
        for number, at in enumerate(planned):
            time.sleep(max(0.0, at - time.perf_counter()))
            boundary(number)
            times.append(time.perf_counter())
        for thread in threads:
            thread.join(max(0.0, end + TIMEOUT - time.perf_counter()))
    finally:
        stop.set()
    for thread in threads:
        thread.join()
    events = [event for each in clients for event in each.events]
    # Requests of an open loop count when they are due, so that none is lost between two rounds.
    rounds = _in_rounds(events, times if options.rate is None else planned)
    if options.rate is not None:
        due = math.ceil(options.rate * options.seconds)
        unsent = due - sum(event.at >= begin for event in events)
        if unsent > 0:
            rounds[-1].failures[UNSENT] += unsent
    return rounds


class _Schedule:
    """The times at which the requests of an open loop should begin; all connections share it."""

    def __init__(self, rate: float, start: float, end: float) -> None:
        self.end = end
        self._rate, self._start = rate, start
        self._numbers = itertools.count()

    def next(self) -> tuple[int, float] | None:
        """Return the number and time of the next request; None at the end."""
        number = next(self._numbers)
        due = self._start + number / self._rate
        return None if due >= self.end else (number, due)


class _Client:
    """One connection, which is opened again after a failure."""

    def __init__(self, target: LoadTarget, requests: Sequence[Prepared], first: int = 0) -> None:
        self.events: list[_Event] = []
        self._target = target
        self._requests = requests
        self._first = first
        self._connection: LoadConnection | None = None

    def closed(self, stop: threading.Event, end: float) -> None:
        """Send the next request when one is answered."""
        requests, clock = self._requests, time.perf_counter
        for number in itertools.count(self._first):
            begin = clock()
            if begin >= end or stop.is_set():
                break
            self._send(requests[number % len(requests)], begin, stop)
        self._close()

    def open(self, warm_up: _Schedule, measured: _Schedule, stop: threading.Event) -> None:
        """Send each request when it is due, or as soon after as this connection is free. What is
        late in the warm-up is left out; what is late then is sent until ``stop`` is set.
        """
        requests, clock = self._requests, time.perf_counter
        for schedule in (warm_up, measured):
            while (found := schedule.next()) is not None and not stop.is_set():
                number, due = found
                now = clock()
                if schedule is warm_up and now >= schedule.end:
                    break
                if due > now:
                    time.sleep(due - now)
                # From when it should have begun: what waits for a connection waits for an answer.
                self._send(requests[number % len(requests)], due, stop, due)
        self._close()

    def _send(
        self, request: Prepared, begin: float, stop: threading.Event, at: float | None = None
    ) -> None:
        """Send a request. ``at`` is when it counts; None: when it ends."""
        clock = time.perf_counter
        try:
            if self._connection is None:
                self._connection = self._target.connect()
            denied = not self._connection.ask(request)
        except RequestFailed as failure:
            done = clock()
            self.events.append(
                _Event(done if at is None else at, done - begin, failure=str(failure))
            )
            self._close()
            stop.wait(_PAUSE)
            return
        done = clock()
        self.events.append(_Event(done if at is None else at, done - begin, denied))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _in_rounds(events: Sequence[_Event], times: Sequence[float]) -> list[LoadRound]:
    """Sort events into the rounds between these times; what ended in the warm-up, or after the last
    round, is left out.
    """
    rounds = [LoadRound(end - begin) for begin, end in itertools.pairwise(times)]
    waiting = iter(sorted(events, key=lambda event: event.at))
    event = next(waiting, None)
    while event is not None and event.at < times[0]:
        event = next(waiting, None)
    for each, end in zip(rounds, times[1:], strict=True):
        while event is not None and event.at < end:
            if event.failure:
                each.failures[event.failure] += 1
            else:
                each.latencies.append(event.latency)
                each.denied += event.denied
            event = next(waiting, None)
    return rounds

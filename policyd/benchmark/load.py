"""Load on a server: each connection sends its next request when it is answered. Understands no
metrics.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from policyd.benchmark.client import LoadTarget, RequestFailed
from policyd.benchmark.webhook_requests import WebhookRequest

_PAUSE = 0.05  # seconds after a failure, so that a server that is gone is not flooded


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a server is loaded: a warm-up comes before ``rounds`` of equal length."""

    connections: int
    seconds: float
    warm_up: float
    rounds: int


@dataclass(slots=True)
class LoadRound:
    """The answers of one round: seconds of each request, and failures by their kind."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    denied: int = 0
    failures: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Event:
    """A request that ended."""

    end: float
    latency: float
    denied: bool = False
    failure: str = ""


def load(
    target: LoadTarget,
    requests: Sequence[WebhookRequest],
    options: LoadOptions,
    boundary: Callable[[int], None],
) -> list[LoadRound]:
    """Load a server, and return its rounds. ``boundary`` is called at the beginning of each round,
    with its number, and at the end of the last one.
    """
    begin = time.perf_counter() + options.warm_up
    length, stop = options.seconds / options.rounds, threading.Event()
    events: list[_Event] = []
    threads = [
        threading.Thread(
            # Connections begin at different requests.
            target=_send,
            args=(target, requests, len(requests) * each // options.connections, events, stop),
            daemon=True,
        )
        for each in range(options.connections)
    ]
    for thread in threads:
        thread.start()
    times = []
    try:
        for number in range(options.rounds + 1):
            time.sleep(max(0.0, begin + length * number - time.perf_counter()))
            boundary(number)
            times.append(time.perf_counter())
    finally:
        stop.set()
    for thread in threads:
        thread.join()
    return _in_rounds(events, times)


def _send(
    target: LoadTarget,
    requests: Sequence[WebhookRequest],
    first: int,
    events: list[_Event],
    stop: threading.Event,
) -> None:
    """Send requests on one connection until ``stop`` is set."""
    connection, clock = target.connection(), time.perf_counter
    for number in count(first):
        if stop.is_set():
            break
        begin = clock()
        try:
            denied = not connection.ask(requests[number % len(requests)])
        except RequestFailed as failure:
            end = clock()
            events.append(_Event(end, end - begin, failure=str(failure)))
            stop.wait(_PAUSE)
        else:
            end = clock()
            events.append(_Event(end, end - begin, denied))
    connection.close()


def _in_rounds(events: Sequence[_Event], times: Sequence[float]) -> list[LoadRound]:
    """Sort events into the rounds between these times; what ended in the warm-up, or after the last
    round, is left out.
    """
    rounds = []
    for begin, end in pairwise(times):
        own = [each for each in events if begin <= each.end < end]
        answered = [each for each in own if not each.failure]
        rounds.append(
            LoadRound(
                end - begin,
                [each.latency for each in answered],
                sum(each.denied for each in answered),
                Counter(each.failure for each in own if each.failure),
            )
        )
    return rounds

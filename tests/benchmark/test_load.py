"""Load on servers that are objects: what is sent, and what is counted in which round."""

import threading
import time
from collections.abc import Callable
from typing import cast

import pytest

from policyd.benchmark.client import LoadConnection, LoadTarget, RequestFailed
from policyd.benchmark.load import LoadOptions, LoadRound, load
from policyd.benchmark.webhook_requests import WebhookRequest

REQUESTS = [WebhookRequest.of(str(each), "validate", {"uid": str(each)}) for each in range(3)]


class FakeServer:
    """Answers as a function says; counts connections and requests."""

    def __init__(self, answer: Callable[[int], bool]) -> None:
        self.answer = answer
        self.connections = 0
        self.seen: list[str] = []
        self._lock = threading.Lock()

    def connection(self) -> "FakeServer":
        with self._lock:
            self.connections += 1
        return self

    def ask(self, request: WebhookRequest) -> bool:
        with self._lock:
            self.seen.append(request.place)
            number = len(self.seen)
        return self.answer(number)

    def close(self) -> None:
        """Nothing is open."""


def run(
    server: FakeServer, options: LoadOptions, boundaries: list[int] | None = None
) -> list[LoadRound]:
    assert set(dir(LoadConnection)) >= {"ask", "close"}
    noted: list[int] = [] if boundaries is None else boundaries
    return load(cast(LoadTarget, server), REQUESTS, options, noted.append)


def pausing(number: int) -> bool:
    time.sleep(0.002)
    return True


def test_each_connection_sends_when_it_is_answered() -> None:
    server, boundaries = FakeServer(pausing), list[int]()
    rounds = run(server, LoadOptions(2, 0.4, 0.1, 4), boundaries)
    answered = [each for one in rounds for each in one.latencies]
    assert boundaries == [0, 1, 2, 3, 4]
    assert server.connections == 2
    assert set(server.seen) == {each.place for each in REQUESTS}
    # What ended in the warm-up is not counted.
    assert 0 < len(answered) < len(server.seen)
    assert all(each >= 0.002 for each in answered)
    assert sum(each.seconds for each in rounds) > 0.35


def test_failures_are_counted_by_kind() -> None:
    def failing(number: int) -> bool:
        time.sleep(0.001)
        if number % 2:
            raise RequestFailed("HTTP 503")
        return number % 4 == 0

    (found,) = run(FakeServer(failing), LoadOptions(1, 0.6, 0.0, 1))
    assert set(found.failures) == {"HTTP 503"}
    assert 0 < found.denied <= len(found.latencies)


def test_a_server_that_is_gone_is_not_flooded() -> None:
    def gone(number: int) -> bool:
        raise RequestFailed("connection refused")

    server = FakeServer(gone)
    (found,) = run(server, LoadOptions(1, 0.4, 0.0, 1))
    assert found.failures["connection refused"] <= len(server.seen) < 20


def test_an_interruption_ends_all_connections() -> None:
    server = FakeServer(pausing)

    def interrupt(number: int) -> None:
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(cast(LoadTarget, server), REQUESTS, LoadOptions(2, 20, 0.0, 100), interrupt)
    before = threading.active_count()
    time.sleep(0.2)
    seen = len(server.seen)
    time.sleep(0.2)
    assert (len(server.seen), threading.active_count() <= before) == (seen, True)

"""Load in closed and open loops, on servers that are objects: what is counted, and from when."""

import threading
import time
from collections.abc import Callable
from typing import cast

import pytest

from policyd.benchmark.client import LoadConnection, LoadTarget, Prepared, RequestFailed
from policyd.benchmark.load import UNSENT, LoadOptions, LoadRound, load

REQUESTS = [Prepared(str(number).encode(), str(number)) for number in range(3)]


class FakeServer:
    """Answers as a function says; counts connections and requests."""

    def __init__(self, answer: Callable[[int], bool]) -> None:
        self.answer = answer
        self.connections = 0
        self.seen: list[bytes] = []
        self._lock = threading.Lock()

    def connect(self) -> "FakeServer":
        with self._lock:
            self.connections += 1
        return self

    def ask(self, request: Prepared) -> bool:
        with self._lock:
            self.seen.append(request.data)
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


def answered(rounds: list[LoadRound]) -> list[float]:
    return [each for one in rounds for each in one.latencies]


def pausing(number: int) -> bool:
    time.sleep(0.002)
    return True


def test_a_closed_loop_sends_when_it_is_answered() -> None:
    server, boundaries = FakeServer(pausing), list[int]()
    rounds = run(server, LoadOptions(2, 0.4, 0.1, 4), boundaries)
    assert boundaries == [0, 1, 2, 3, 4]
    assert server.connections == 2
    assert set(server.seen) == {each.data for each in REQUESTS}
    # What ended in the warm-up is not counted.
    assert 0 < len(answered(rounds)) < len(server.seen)
    assert all(each >= 0.002 for each in answered(rounds))
    assert sum(each.seconds for each in rounds) > 0.35


def test_an_open_loop_sends_what_is_due() -> None:
    server = FakeServer(pausing)
    rounds = run(server, LoadOptions(4, 1.0, 0.0, 4, rate=50))
    assert len(server.seen) == 50
    assert [len(each.latencies) for each in rounds] == [13, 12, 13, 12]
    assert not any(each.failures for each in rounds)


def test_an_open_loop_measures_from_the_intended_start() -> None:
    # One stall: what is due meanwhile waits for it, and that is the latency of those who wait.
    def stalling(number: int) -> bool:
        time.sleep(0.5 if number == 10 else 0)
        return True

    rounds = run(FakeServer(stalling), LoadOptions(1, 1.2, 0.0, 1, rate=50))
    late = [each for each in answered(rounds) if each > 0.1]
    assert len(late) >= 15  # 25 requests are due in half a second
    closed = run(FakeServer(stalling), LoadOptions(1, 1.2, 0.0, 1))
    assert 1 <= len([each for each in answered(closed) if each > 0.4]) < 10


def test_what_an_open_loop_cannot_send_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policyd.benchmark.load.TIMEOUT", 0.1)

    def slow(number: int) -> bool:
        time.sleep(0.1)
        return True

    server = FakeServer(slow)
    rounds = run(server, LoadOptions(1, 0.5, 0.0, 1, rate=100))
    assert rounds[-1].failures[UNSENT] == 50 - len(server.seen) > 30


def test_failures_are_counted_by_kind_and_open_a_new_connection() -> None:
    def failing(number: int) -> bool:
        time.sleep(0.001)
        if number % 2:
            raise RequestFailed("HTTP 503")
        return number % 4 == 0

    server = FakeServer(failing)
    (found,) = run(server, LoadOptions(1, 0.6, 0.0, 1))
    assert set(found.failures) == {"HTTP 503"}
    assert 0 < found.denied <= len(found.latencies)
    assert server.connections >= found.failures["HTTP 503"]


def test_a_closed_loop_does_not_flood_a_server_that_is_gone() -> None:
    class Gone(FakeServer):
        def connect(self) -> FakeServer:
            self.connections += 1
            raise RequestFailed("connection refused")

    server = Gone(pausing)
    (found,) = run(server, LoadOptions(1, 0.4, 0.0, 1))
    assert found.failures["connection refused"] <= server.connections < 20


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

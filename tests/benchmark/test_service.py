"""Figures of a server, from what was answered and what it says of itself."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from policyd.benchmark import service
from policyd.benchmark.admin import Admin, ServerState
from policyd.benchmark.client import LoadTarget
from policyd.benchmark.load import LoadOptions, LoadRound
from policyd.benchmark.service import CPU, THROUGHPUT, ServiceMeasurement, measure
from policyd.errors import ConfigError

ROUNDS = 8
OPTIONS = LoadOptions(2, float(ROUNDS), 0, ROUNDS)


class Unreached:
    """A target that is never connected to."""

    host, port = "server", 443


class Says:
    """An admin port that says one state after the other."""

    def __init__(self, states: Iterator[ServerState]) -> None:
        self._states = states

    def read(self) -> ServerState:
        return next(self._states)


def answers(number: int) -> LoadRound:
    """Ten requests of 1 to 10 ms in a second; every one but the last denied."""
    return LoadRound(1.0, [each / 1000 for each in range(10, 0, -1)], 9)


def state(number: int, started: float = 1.0, generation: str = "g") -> ServerState:
    return ServerState(number / 100, started, generation)


def run(
    monkeypatch: pytest.MonkeyPatch,
    states: Iterator[ServerState] | None = None,
    one: Callable[[int], LoadRound] = answers,
) -> ServiceMeasurement:
    def load(
        target: object, requests: object, options: LoadOptions, boundary: Callable[[int], None]
    ) -> list[LoadRound]:
        boundary(0)
        made = []
        for number in range(options.rounds):
            made.append(one(number))
            boundary(number + 1)
        return made

    monkeypatch.setattr(service, "load", load)
    admin = None if states is None else cast(Admin, Says(states))
    target = cast(LoadTarget, Unreached())
    return measure(target, [], OPTIONS, admin, lambda doing, done, total: None)


def test_figures_are_those_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, map(state, range(100)))
    medians = {name: each.median for name, each in found.figures.items()}
    assert medians == pytest.approx(
        # 10 ms of CPU time for 10 requests.
        {"p50": 5000, "p90": 9000, "p99": 10_000, "max": 10_000, THROUGHPUT: 10, CPU: 1000}
    )
    assert (len(found.latencies), found.denied) == (10 * ROUNDS, 9 * ROUNDS)


def test_without_an_admin_port_there_is_no_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch)
    assert CPU not in found.figures


def test_a_restart_is_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, (state(each, started=float(each > 3)) for each in range(100)))
    assert CPU not in found.figures
    assert any("the server restarted" in each for each in found.remarks)


def test_other_policies_are_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, (state(each, generation=str(each > 3)) for each in range(100)))
    assert CPU in found.figures
    assert any("policies of the server changed" in each for each in found.remarks)


def test_rounds_without_an_answer_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, one=lambda number: answers(0) if number < 6 else LoadRound(1.0))
    assert len(found.figures["p50"].rounds) == 6


def test_no_answer_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = LoadRound(1.0, failures=Counter({"timeout": 3}))
    with pytest.raises(ConfigError, match=r"server:443: no answer in 8 s \(24 × timeout\)"):
        run(monkeypatch, one=lambda number: failing)


def test_a_client_that_is_busy_itself_is_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {"process_time": 0.0, "perf_counter": 0.0}

    def ahead(name: str, step: float) -> Callable[[], float]:
        def read() -> float:
            clocks[name] += step
            return clocks[name]

        return read

    monkeypatch.setattr("time.process_time", ahead("process_time", 0.95))
    monkeypatch.setattr("time.perf_counter", ahead("perf_counter", 1.0))
    found = run(monkeypatch)
    assert any("the client itself used 95% of a core" in each for each in found.remarks)

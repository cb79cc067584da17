"""Figures: medians, intervals of them, and comparisons."""

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.benchmark.figures import FEWEST, Figure, change, interval, percentile

VALUES = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=60)


def figure(*rounds: float, unit: str = "us", yardstick: tuple[float, ...] = ()) -> Figure:
    return Figure("f", unit, rounds, yardstick)


@given(VALUES)
def test_an_interval_contains_the_median_and_is_within_the_values(values: list[float]) -> None:
    low, high = interval(values)
    assert min(values) <= low <= median(values) <= high <= max(values)


def test_an_interval_has_what_slows_several_rounds_in_a_row() -> None:
    values = [100.0] * 20 + [150.0] * 5 + [100.0] * 5
    assert interval(values) == (100, 150)
    alone = [100.0] * 30
    alone[3] = alone[17] = 150.0
    assert interval(alone) == (100, 100)


@pytest.mark.parametrize("count", [FEWEST, 8, 20, 31])
def test_an_interval_has_the_true_median_as_often_as_it_claims(count: int) -> None:
    # Any distribution will do; this one has disturbances in one direction, as times have.
    noise = random.Random(count)
    hits = 0
    for _ in range(2000):
        low, high = interval([noise.expovariate(1.0) for _ in range(count)])
        hits += low <= 0.693147 <= high
    assert hits >= 0.97 * 2000


def test_more_rounds_make_an_interval_narrower() -> None:
    noise = random.Random(1)
    values = [noise.gauss(100, 5) for _ in range(101)]
    few, many = interval(values[:9]), interval(values)
    assert many[1] - many[0] < few[1] - few[0]


def test_twice_as_long_is_slower_beyond_doubt() -> None:
    before = figure(*(100 + each for each in range(10)))
    found = change(figure(*(2 * each for each in before.rounds)), before)
    assert found is not None
    assert found.ratio == 2
    assert found.slower_than(0.1)
    assert not found.slower_than(1.2)


def test_what_scatters_more_than_it_differs_is_no_change() -> None:
    before = figure(*(100 + 5 * each for each in range(10)))
    found = change(figure(*(each * 1.15 for each in before.rounds)), before)
    assert found is not None
    assert found.ratio == pytest.approx(1.15)
    assert not found.slower_than(0.1)


def test_a_machine_that_is_slower_as_a_whole_is_no_change() -> None:
    rounds = tuple(100.0 + each % 3 for each in range(10))
    before = figure(*rounds, yardstick=(10.0,) * 10)
    now = figure(*(2 * each for each in rounds), yardstick=(20.0,) * 10)
    found = change(now, before)
    assert found is not None
    assert (found.ratio, found.scaled) == (1, True)
    assert not found.slower_than(0.05)


def test_what_depends_on_chance_is_compared_and_fails_nothing() -> None:
    now, before = (Figure("max", "us", (each,) * 10, unsteady=True) for each in (9.0, 1.0))
    found = change(now, before)
    assert found is not None
    assert (found.ratio, found.slower_than(0.1)) == (9, False)


def test_less_throughput_is_slower() -> None:
    before = figure(*[1000.0] * 8, unit="requests/s")
    found = change(figure(*[500.0] * 8, unit="requests/s"), before)
    assert found is not None
    assert found.slower_than(0.5)


def test_nothing_cannot_be_compared() -> None:
    assert change(figure(0.0), figure(1.0)) is None
    assert change(figure(1.0), figure(0.0)) is None


@pytest.mark.parametrize(("share", "found"), [(0, 1), (0.5, 5), (0.9, 9), (0.99, 10), (1, 10)])
def test_a_percentile_is_a_value_that_occurred(share: float, found: int) -> None:
    assert percentile(range(1, 11), share) == found

"""Estimates from rounds: what their intervals hold, and what they leave out."""

import math
import random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.crossover.estimates import FEWEST, differences, estimate, percentile

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=FEWEST, max_size=40)


@given(VALUES)
def test_the_interval_has_the_mean_in_its_middle(values: list[float]) -> None:
    found = estimate(values)
    assert found.low <= found.value <= found.high
    assert math.isclose(found.value, mean(values), rel_tol=1e-9, abs_tol=1e-6)
    assert math.isclose(found.high - found.value, found.value - found.low, abs_tol=1e-3)


@given(VALUES, st.floats(-1e6, 1e6))
def test_what_disturbs_a_whole_round_disturbs_no_difference(
    noise: list[float], shift: float
) -> None:
    found = differences([each + shift for each in noise], noise)
    assert math.isclose(found.value, shift, rel_tol=1e-6, abs_tol=1e-3)
    assert found.high - found.low < 1e-2


@pytest.mark.parametrize("rounds", [FEWEST, 20])
def test_the_interval_holds_the_true_mean_in_95_of_100_runs(rounds: int) -> None:
    chance = random.Random(7)
    runs = [estimate([chance.gauss(3, 2) for _ in range(rounds)]) for _ in range(2000)]
    held = sum(each.low <= 3 <= each.high for each in runs)
    assert 0.935 < held / len(runs) < 0.965


def test_a_difference_is_measurable_only_if_the_interval_excludes_zero() -> None:
    assert estimate([1.0, 1.1, 0.9, 1.0, 1.0]).measurable
    assert estimate([-1.0, -1.1, -0.9, -1.0, -1.0]).measurable
    assert not estimate([1.0, -1.1, 0.9, -1.0, 0.3]).measurable


def test_too_few_rounds_are_no_estimate() -> None:
    with pytest.raises(ValueError, match="expected at least 5 rounds, got 4"):
        estimate([1.0] * (FEWEST - 1))


@given(st.lists(st.integers(0, 100), min_size=1), st.floats(0, 1))
def test_a_percentile_is_a_value_with_that_share_at_or_below(
    values: list[int], share: float
) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(each <= found for each in values) >= share * len(values) - 1e-9
    below = [each for each in values if each < found]
    assert len(below) < share * len(values) or not below

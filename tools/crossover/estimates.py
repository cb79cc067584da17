"""Estimates from rounds: a mean with its 95 % interval. Measures nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

FEWEST = 5  # rounds; the approximation of Student's distribution below is good to 2 % from there


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and the interval that has the true one with 95 % probability if the rounds are
    independent of each other.
    """

    value: float
    low: float
    high: float

    @property
    def measurable(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate the mean of the values of rounds, at least FEWEST."""
    if len(values) < FEWEST:
        raise ValueError(f"expected at least {FEWEST} rounds, got {len(values)}")
    middle = mean(values)
    half = _student(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Estimate(middle, middle - half, middle + half)


def differences(values: Sequence[float], base: Sequence[float]) -> Estimate:
    """Estimate how much larger the values are than the base of the same rounds: what disturbs a
    whole round disturbs both.
    """
    return estimate([value - other for value, other in zip(values, base, strict=True)])


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below this share (0 to 1) of the values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's distribution (Abramowitz and Stegun, 26.7.5)."""
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3

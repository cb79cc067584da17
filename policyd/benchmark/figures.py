"""Figures: what was measured, round by round, and how two of them compare. Measures nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles

# Of rounds, for the interval of a median; there must be a round for each.
BLOCKS = FEWEST = 7


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity with its value in each round.

    ``yardstick`` are the values of work that never changes, measured in the same rounds: what
    slows the whole machine down slows both. It is empty where there is none. Of a figure in
    ``requests/s`` more is better. An ``unsteady`` one, such as the slowest of all requests, depends
    on chance: it fails no comparison.
    """

    name: str
    unit: str
    rounds: tuple[float, ...]
    yardstick: tuple[float, ...] = ()
    unsteady: bool = False

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return median(self.rounds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and third quartile of the rounds."""
        if len(self.rounds) < 2:
            return self.rounds[0], self.rounds[0]
        low, _, high = quantiles(self.rounds, n=4, method="inclusive")
        return low, high

    @property
    def more_is_better(self) -> bool:
        """Whether a larger value is the better one."""
        return self.unit == "requests/s"

    def relative(self) -> tuple[float, ...]:
        """Return the rounds as multiples of the yardstick."""
        pairs = zip(self.rounds, self.yardstick, strict=True)
        return tuple(value / base for value, base in pairs)


@dataclass(frozen=True, slots=True)
class FigureChange:
    """How many times as long something takes as before, with an interval for it. ``scaled``: by the
    yardsticks of both.
    """

    name: str
    unit: str
    before: float
    now: float
    ratio: float
    low: float
    high: float
    scaled: bool
    unsteady: bool = False

    def slower_than(self, threshold: float) -> bool:
        """Whether it became slower by more than this share, and the interval excludes less."""
        return self.low > 1 + threshold and not self.unsteady


def change(now: Figure, before: Figure) -> FigureChange | None:
    """Compare two measurements of the same quantity; None if one of them is nothing."""
    scaled = bool(now.yardstick and before.yardstick)
    values = now.relative() if scaled else now.rounds
    base = before.relative() if scaled else before.rounds
    if now.more_is_better:
        values, base = base, values
    middle, other = median(values), median(base)
    if middle <= 0 or other <= 0:
        return None
    low, high = interval(values)
    base_low, base_high = interval(base)
    return FigureChange(
        now.name,
        now.unit,
        before.median,
        now.median,
        ratio=middle / other,
        low=low / base_high,
        high=high / base_low if base_low > 0 else math.inf,
        scaled=scaled,
        unsteady=now.unsteady,
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return bounds of the median: of the medians of BLOCKS runs of consecutive rounds, the lowest
    and the highest. All of them are on one side of the true median in one of 64 cases, whatever the
    distribution is, if the blocks are independent; the rounds need not be, as a machine that is
    busy for some time slows down several in a row.
    """
    if len(values) <= BLOCKS:
        return min(values), max(values)
    bounds = [len(values) * number // BLOCKS for number in range(BLOCKS + 1)]
    blocks = [median(values[begin:end]) for begin, end in pairwise(bounds)]
    return min(*blocks, median(values)), max(*blocks, median(values))


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest of sorted values that is not below this share (0 to 1) of them."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

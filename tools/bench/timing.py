"""CPU time of small functions, measured in turns so that a noisy machine hurts all alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """The median over all rounds, in microseconds of CPU for one unit of work."""

    name: str
    micros: float

    def ratio(self, other: "Timing") -> float:
        """How many times as long this takes as the other."""
        return self.micros / other.micros


def compare(works: Sequence[tuple[str, Work, int]], rounds: int = 9) -> list[Timing]:
    """Time each (name, work, units in one call of it) ``rounds`` times, one after the other in each
    round.
    """
    samples: list[list[float]] = [[] for _ in works]
    for _, work, _ in works:
        work()
    for _ in range(rounds):
        for index, (_, work, units) in enumerate(works):
            start = process_time()
            work()
            samples[index].append((process_time() - start) / units * 1e6)
    return [Timing(works[i][0], median(taken)) for i, taken in enumerate(samples)]

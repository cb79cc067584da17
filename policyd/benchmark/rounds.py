"""Repeat work in rounds, each kind of work once in every round: what disturbs the machine disturbs
all of them alike. Knows nothing of policies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, process_time

from policyd.benchmark.figures import FEWEST

# One kind of work in one round: the values of its figures, by their names.
Work = Callable[[], Mapping[str, float]]
Report = Callable[[str, int, int], None]

_WARM = 0.1  # seconds of CPU time before anything counts
_FEWEST_WARM = 3


@dataclass(frozen=True, slots=True)
class RoundLimits:
    """The number of rounds; fewer if the time is over, but at least FEWEST."""

    rounds: int = 30
    seconds: float = 60.0


def measured(
    works: Sequence[Work], limits: RoundLimits, report: Report
) -> dict[str, tuple[float, ...]]:
    """Warm up, run the rounds, and return the values of each figure, round by round. The order of
    the works is reversed from round to round.
    """
    for number, work in enumerate(works):
        report("warming up", number, len(works))
        warm_up(work)
    found: dict[str, list[float]] = {}
    end = monotonic() + limits.seconds
    for number in range(limits.rounds):
        if number >= FEWEST and monotonic() > end:
            break
        report("measuring", number, limits.rounds)
        for work in works if number % 2 else reversed(works):
            for name, value in work().items():
                found.setdefault(name, []).append(value)
    return {name: tuple(values) for name, values in found.items()}


def warm_up(work: Callable[[], object]) -> float:
    """Run work until it is warm; return the seconds of CPU time that it took last."""
    begin, done, latest = process_time(), 0, 0.0
    while done < _FEWEST_WARM or (process_time() - begin < _WARM and done < 1000):
        started = process_time()
        work()
        latest = process_time() - started
        done += 1
    return latest

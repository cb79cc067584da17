"""A sample of what only confirms: other versions, more rows and more inputs of the same kind. No tests here.

A run checks a quarter of it, chosen by a seed that pytest prints in its first lines; ``POLICYD_SEED`` repeats a
run, ``POLICYD_SAMPLE=1`` checks everything, as ``make acceptance`` does. Properties take the same examples in
every run, or with ``POLICYD_EXPLORE=1`` those of the seed, as ``make explore`` does.
"""

import os
import secrets
from collections.abc import Iterable, Sequence
from math import ceil
from random import Random
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")

SEED = "POLICYD_SEED"
EXPLORE = "POLICYD_EXPLORE"
SHARE = "POLICYD_SAMPLE"
DEFAULT_SHARE = 0.25
# Which server the processes of a test use: one of both where a sample is run with the other one.
SERVER = "TESTED_SERVER"


def seeded() -> tuple[str, float]:
    """Return the seed and the share of this run; sets the seed for the processes of the run."""
    return os.environ.setdefault(SEED, str(secrets.randbelow(10**6))), share()


def explores() -> bool:
    """Return whether properties take other examples with another seed."""
    return os.environ.get(EXPLORE) == "1"


def share() -> float:
    """Return the part that is checked, more than 0 and at most 1."""
    given = float(os.environ.get(SHARE) or DEFAULT_SHARE)
    if not 0 < given <= 1:
        raise ValueError(f"{SHARE}={given}: expected a number above 0, at most 1")
    return given


def sampled(items: Iterable[T], least: int = 1) -> list[T]:
    """Return the sample of these items in their order: at least ``least``, if there are so many.

    The same in each process of a run. Which items are taken depends on their number and the seed only.
    """
    given = list(items)
    count = min(len(given), max(least, ceil(len(given) * share())))
    chosen = Random(f"{seeded()[0]} {len(given)}").sample(range(len(given)), count)
    return [given[index] for index in sorted(chosen)]


def paired(items: Sequence[T], others: Sequence[U]) -> list[tuple[T, U]]:
    """Return pairs with each item and each of the others; all pairs where everything is checked."""
    if share() == 1:
        return [(item, other) for item in items for other in others]
    first = Random(seeded()[0]).randrange(len(others))
    count = max(len(items), len(others))
    return [
        (items[number % len(items)], others[(first + number) % len(others)])
        for number in range(count)
    ]


def portion(most: int, least: int = 25) -> int:
    """Return how many of ``most`` inputs of the same kind are checked."""
    return min(most, max(least, ceil(most * share())))


def examples(most: int, least: int = 25) -> int:
    """Return how many examples a property is tried with, of the ``most`` that all would be.

    Examples that are the same ones in every run find little after the first: such a run has the least, an
    exploring run all of its portion.
    """
    return portion(most, least) if explores() or share() == 1 else min(most, least)

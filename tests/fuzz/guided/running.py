"""Runs targets without a fuzzer: recorded inputs, and random ones that are the same each time."""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from time import thread_time

from tests.fuzz.guided.target import FuzzTarget

# CPU seconds of one input: hundreds of times what the slowest ones take.
PATIENCE = 20.0
SEED = 1
# New inputs are made of earlier ones, too; the fuzzer keeps those that reach new code, here it is chance.
KEPT = 0.3


class TooSlow(AssertionError):
    """An input takes more time than any input may."""


def bounded(check: Callable[[bytes], None], data: bytes) -> None:
    """Check an input, and the time that it takes."""
    start = thread_time()
    check(data)
    if thread_time() - start > PATIENCE:
        raise TooSlow(f"{thread_time() - start:.1f} s for {len(data)} bytes")


def inputs(target: FuzzTarget, count: int, longest: int, given: list[bytes]) -> Iterator[bytes]:
    """Yield ``count`` inputs made of the seeds and of those given, the same ones each time."""
    return islice(_inputs(target, longest, [*target.seeds(), *given]), count)


def _inputs(target: FuzzTarget, longest: int, pool: list[bytes]) -> Iterator[bytes]:
    chance = Random(SEED)
    while True:
        made = target.mutate(chance.choice(pool), chance)[:longest]
        if chance.random() < KEPT:
            pool.append(made)
        yield made

"""Configures garbage collection: rare during the imports and the single task of a command, normal
in a server. Also returns free memory to the system.

Imported modules live as long as the process. With Python's defaults, collections that repeatedly
visit them take a fifth of the CPU of a start.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from policyd._core.system.libc import malloc_trim

# Objects created less those freed before a young collection: five times as many as a command
# imports. Loading policies leaves no garbage.
_SELDOM = (500_000, 20, 20)
_USUAL = gc.get_threshold()


def collect_seldom() -> None:
    """Call this before the imports of a command."""
    gc.set_threshold(*_SELDOM)


def collect_as_usual() -> None:
    """Call this before a process begins to serve; collections ignore all existing objects."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


@contextmanager
def exempting() -> Iterator[None]:
    """Exempt the survivors of each collection from later ones while policies are loaded next to
    requests.

    A collection stops all threads, for 0.1 ms per policy of a set. With this, each one visits only
    the few hundred objects created since the last one. Sets and connections are not reference
    cycles: they are freed although they are exempt.
    """
    gc.collect()  # garbage must not become exempt
    gc.callbacks.append(_exempt)
    try:
        yield
    finally:
        gc.callbacks.remove(_exempt)  # one of them: several loads may be under way


def _exempt(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()


def exempt(oldest: bool = True) -> None:
    """Collect garbage now, and exempt the rest from further collections."""
    gc.collect(2 if oldest else 1)
    gc.freeze()


def settle(oldest: bool = True) -> None:
    """Collect garbage now, exempt the rest from further collections, and return free memory to the
    system.

    Without ``oldest`` only collect young objects, which suffices after ``exempting``. Collecting
    the oldest also frees the memory that Python keeps for new tuples, which takes a millisecond
    after loading much.
    """
    exempt(oldest=oldest)
    # glibc keeps memory freed below the last block in use: loading leaves a few percent.
    give_back()


def give_back() -> None:
    """Return free memory to the system."""
    malloc_trim()

"""When Python looks for garbage: seldom while a command is imported and does its work once, as
usual in a server. And what is left free is given back.

Imported modules live as long as the process. At Python's own pace a fifth of the CPU of a start
goes into looking through it again and again.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from policyd._core.system.libc import malloc_trim

# Objects made, less those freed, before the young ones are looked through: five times as many as a
# command imports. Loading policies leaves no garbage at all.
_SELDOM = (500_000, 20, 20)
_USUAL = gc.get_threshold()


def collect_seldom() -> None:
    """Call this before the imports of a command."""
    gc.set_threshold(*_SELDOM)


def collect_as_usual() -> None:
    """Call this before a process begins to serve; what it has by now is never looked through."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


@contextmanager
def exempting() -> Iterator[None]:
    """Exempt what a collection leaves from all later ones, for as long as policies are loaded
    beside requests.

    A collection stops all threads, and a whole set takes it 0.1 ms a policy. So each one looks
    through the few hundred objects that were made since the last one. Neither sets nor connections
    are reference cycles: they are freed although they are exempt.
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
    """Collect garbage now, and exempt what is left from further collections."""
    gc.collect(2 if oldest else 1)
    gc.freeze()


def settle(oldest: bool = True) -> None:
    """Collect garbage now, exempt what is left from further collections, and return free memory to
    the system.

    Without ``oldest`` only what is young: enough after ``exempting``. Looking for garbage among the
    oldest also frees all the memory that Python keeps for new tuples, which takes a millisecond
    when much was loaded.
    """
    exempt(oldest=oldest)
    # glibc keeps what was freed below the last block in use: loading leaves a few percent.
    give_back()


def give_back() -> None:
    """Return free memory to the system."""
    malloc_trim()

"""When Python looks for garbage: seldom while a command is imported and does its work once, as
usual in a server. And what is left free is given back.

What is imported lives as long as the process. At Python's own pace a fifth of the CPU of a start
goes into looking through it again and again.
"""

import ctypes
import gc
from collections.abc import Callable

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


def settle() -> None:
    """Collect garbage now, exempt what is left from further collections, which stop all threads,
    and return free memory to the system.
    """
    gc.collect()
    gc.freeze()
    # glibc keeps what was freed below the last block in use: loading leaves a few percent.
    give_back()


def give_back() -> None:
    """Return free memory to the system."""
    _trim(0)


def _trimmer() -> Callable[[int], int]:
    """Return ``malloc_trim`` of glibc, or a function that does nothing without glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim if trim is not None else lambda _: 0


_trim = _trimmer()

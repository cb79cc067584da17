"""How glibc's allocator keeps memory, so that one review reuses the memory of the one before it.

By default glibc returns the top of the heap to the system as soon as 128 KiB of it are free, and
maps every large block apart: a server then maps, clears and unmaps memory on each request. Nothing
here is done without glibc, and what the operator sets wins.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policyd._core.system import libc


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of ``mallopt``, and by what an operator sets it."""

    number: int  # in <malloc.h>
    variable: str
    tunable: str
    value: int


PARAMETERS = (
    # Blocks up to this size come from the heap: bodies of all but the largest reviews.
    Parameter(-3, "MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold", 4 * 2**20),
    # This much may be free at the top of the heap before it is returned.
    Parameter(-1, "MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold", 64 * 2**20),
    # The heap grows by this much at a time.
    Parameter(-2, "MALLOC_TOP_PAD_", "glibc.malloc.top_pad", 2**20),
)


def keep_memory(
    environment: Mapping[str, str] = os.environ,
    mallopt: Callable[[int, int], bool] | None = libc.mallopt if libc.IS_GLIBC else None,
) -> list[str]:
    """Set the parameters that the environment does not set; return the variables that stand for
    them. Call it once in each process, before it loads policies.
    """
    if mallopt is None:
        return []
    tunables = environment.get("GLIBC_TUNABLES", "")
    done = []
    for each in PARAMETERS:
        if each.variable not in environment and f"{each.tunable}=" not in tunables:
            mallopt(each.number, each.value)
            done.append(each.variable)
    return done

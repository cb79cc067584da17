"""Tunes glibc's allocator, so that each review reuses the memory of the previous one.

By default glibc returns the top of the heap to the system as soon as 128 KiB of it are free, and
maps every large block separately: a server then maps, clears and unmaps memory on each request.
This module does nothing without glibc; variables that the operator sets take precedence.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policyd._core.system import libc


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of ``mallopt``, and the variables with which an operator sets it."""

    number: int  # in <malloc.h>
    variable: str
    tunable: str
    value: int


PARAMETERS = (
    # Blocks up to this size come from the heap: bodies of all but the largest reviews.
    Parameter(-3, "MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold", 4 * 2**20),
    # Free bytes at the top of the heap before glibc returns them.
    Parameter(-1, "MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold", 64 * 2**20),
    # The step in which the heap grows.
    Parameter(-2, "MALLOC_TOP_PAD_", "glibc.malloc.top_pad", 2**20),
)


def keep_memory(
    environment: Mapping[str, str] = os.environ,
    mallopt: Callable[[int, int], bool] | None = libc.mallopt if libc.IS_GLIBC else None,
) -> list[str]:
    """Set the parameters that the environment does not set; return the corresponding variables.
    Call it once in each process, before it loads policies.
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

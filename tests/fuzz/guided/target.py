"""What a fuzz target consists of."""

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple


class FuzzTarget(NamedTuple):
    """``check`` raises if anything is wrong with the answers to an input: any exception that policyd
    does not document, or an AssertionError about an invariant. It must not change global state.

    ``seeds`` are inputs to begin with, ``mutate`` changes an input and keeps most of its form.
    """

    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    mutate: Callable[[bytes, Random], bytes]

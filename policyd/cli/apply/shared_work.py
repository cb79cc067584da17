"""Share work among processes, one a core: each has the state from when it was forked. Work that
one of them cannot do is done here, so that errors are raised here.
"""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
MANY = 400  # items; fewer are done before other processes have started
_PIECE = 50  # items sent together
_given: list[Any] = []  # in a process: the work, and all items


def shared(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Return the results of the items, in order. Only results are sent between processes."""
    cores = len(os.sched_getaffinity(0))
    if cores < 2 or len(items) < MANY:
        return map(work, items)
    processes = ProcessPoolExecutor(cores, get_context("fork"), _begin, (work, items))
    starts = range(0, len(items), _PIECE)
    pieces = [(start, processes.submit(_piece, start)) for start in starts]  # forks, before threads
    return _collected(processes, pieces, work, items)


def _collected(
    processes: ProcessPoolExecutor,
    pieces: Sequence[tuple[int, "Future[list[Any] | None]"]],
    work: Callable[[Item], Result],
    items: Sequence[Item],
) -> Iterator[Result]:
    try:
        for start, piece in pieces:
            yield from _result(piece) or map(work, items[start : start + _PIECE])
    finally:
        processes.shutdown(cancel_futures=True)


def _begin(*given: Any) -> None:
    gc.freeze()  # looking through it would copy it
    _given[:] = given


def _piece(start: int) -> list[Any] | None:
    """Return the results of some items; None if there was an error, which may not be sendable."""
    work, items = _given
    try:
        return [work(item) for item in items[start : start + _PIECE]]
    except Exception:
        return None


def _result(piece: "Future[list[Any] | None]") -> list[Any] | None:
    """Return the results of a piece; None if they have to be made here."""
    try:
        return piece.result()
    except Exception:  # it was killed, or its results cannot be sent
        return None

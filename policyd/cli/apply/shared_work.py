"""Share work among processes, one a core: each has the state from when it was forked. Work that
one of them cannot do is done here, so that errors are raised here. Few items are in memory.
"""

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
MANY = 400  # items; fewer are done before other processes have started
_PIECE = 50  # items sent together
_AHEAD = 3  # pieces of each process that wait or are done
_given: list[Any] = []  # in a process: the work


def shared(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Return the results of the items, in order."""
    cores = len(os.sched_getaffinity(0))
    waiting = iter(items)
    first = list(islice(waiting, MANY))
    if cores < 2 or len(first) < MANY:
        return map(work, chain(first, waiting))
    processes = ProcessPoolExecutor(cores, get_context("fork"), _begin, (work,))
    processes.submit(os.getpid)  # forks, before threads
    return _collected(processes, work, chain(first, waiting), _AHEAD * cores)


def _collected(
    processes: ProcessPoolExecutor,
    work: Callable[[Item], Result],
    items: Iterator[Item],
    ahead: int,
) -> Iterator[Result]:
    sent: deque[tuple[list[Item], Future[list[Any] | None]]] = deque()
    try:
        while (piece := list(islice(items, _PIECE))) or sent:
            if piece:
                sent.append((piece, processes.submit(_piece, piece)))
            if len(sent) > ahead or not piece:
                first, future = sent.popleft()
                yield from _result(future) or map(work, first)
    except BrokenProcessPool:  # one was killed, which ends all
        left = chain.from_iterable(each for each, _ in sent)
        yield from map(work, chain(left, piece, items))
    finally:
        processes.shutdown(cancel_futures=True)


def _begin(work: Any) -> None:
    gc.freeze()  # looking through it would copy it
    _given[:] = [work]


def _piece(items: list[Any]) -> list[Any] | None:
    """Return the results of some items; None if there was an error, which may not be sendable."""
    try:
        return [_given[0](item) for item in items]
    except Exception:
        return None


def _result(piece: "Future[list[Any] | None]") -> list[Any] | None:
    """Return the results of a piece; None if they have to be made here."""
    try:
        return piece.result()
    except Exception:  # it was killed, or its results cannot be sent
        return None

"""Follows lists of a cluster while callers want them, under one name in metrics and log."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from policyd.controllers.waiting import until_any
from policyd.observability.logs import Log
from policyd.observability.metrics.scrape import CacheState
from policyd.server.health import WatchHealth

if TYPE_CHECKING:
    from policyd.cluster.watching import Reflector

Wanted = TypeVar("Wanted", bound=Hashable)

# The longest time that readiness waits for first lists, unless nothing replaces a missing one.
FIRST_LIST_SECONDS = 10.0
# How often the health of lists is recorded.
TICK_SECONDS = 0.5
# A problem is logged when it has lasted this long: a lost connection is replaced at once.
LASTING_SECONDS = 3.0


class Following:
    """One list, while it is wanted."""

    def __init__(self) -> None:
        self._stop = asyncio.Event()
        self.reflector: Reflector | None = None
        self.problem = ""  # why nothing is listed
        self.absent = False  # whether there is nothing to list
        self.lost = False  # whether the problem lasts, and nothing is in use meanwhile

    @property
    def wanted(self) -> bool:
        """Whether a caller still wants the list."""
        return not self._stop.is_set()

    def stop(self) -> None:
        """End ``run`` and ``pause`` soon."""
        self._stop.set()

    def nothing(self, problem: str = "", *, lost: bool = False) -> None:
        """Record that there is no list, because the resource is absent or because of ``problem``.
        ``lost``: the objects known so far are not in use either.
        """
        self.reflector, self.problem, self.absent = None, problem, not problem or lost
        self.lost = lost

    async def run(self, reflector: "Reflector", until: Callable[[], bool] = lambda: False) -> None:
        """Follow until ``stop`` or ``until``, or until the resource is no longer served."""
        self.reflector, self.problem, self.absent, self.lost = reflector, "", False, False
        stop = asyncio.Event()
        task = asyncio.create_task(reflector.run(stop))
        try:
            while self.wanted and not (task.done() or reflector.gone or until()):
                await self.pause(TICK_SECONDS)
        finally:
            stop.set()
            await task

    async def pause(self, seconds: float) -> None:
        """Wait, but stop when the list is no longer wanted."""
        await until_any(self._stop, seconds=seconds)

    @property
    def awaited(self) -> bool:
        """Whether the first list is still expected."""
        listed = self.reflector
        if listed is None:
            return not self.absent
        return not (listed.synced or listed.refused or listed.gone)

    @property
    def trouble(self) -> str:
        """Why the list is out of date; empty if it is current."""
        return self.problem if self.reflector is None else self.reflector.problem


@dataclass(eq=False, repr=False)
class FollowedLists(Generic[Wanted]):
    """The lists of one cache. ``follow`` follows one until its Following is no longer wanted;
    ``instead`` describes, for the log, the effect of missing permission. ``needed``: nothing
    replaces an incomplete list.
    """

    name: str
    follow: Callable[[Wanted, Following], Awaitable[None]]
    log: Log
    instead: str = "each is looked up when a request needs it"
    needed: bool = False

    def __post_init__(self) -> None:
        self.wanted: frozenset[Wanted] = frozenset()
        self._lists: dict[Wanted, Following] = {}
        self._tasks: dict[Wanted, asyncio.Task[None]] = {}
        self._due = asyncio.Event()
        self._begun = 0.0
        self._first: set[Wanted] = set()  # wanted when the server started
        self._since = 0.0  # when the problem began; 0 without one
        self._logged = ""
        self.muted = False  # whether the log already has the cause of a problem

    def want(self, wanted: frozenset[Wanted]) -> None:
        """Follow these from now on, and no others. Runs on the event loop."""
        self._begun = self._begun or monotonic()
        self.wanted = wanted
        for each in self._lists.keys() - wanted:
            self._lists.pop(each).stop()
        for each in wanted - self._lists.keys():
            self._lists[each] = Following()
        if self._early:
            self._first |= wanted
        self._due.set()

    @property
    def waiting(self) -> bool:
        """Whether readiness should wait for a first list."""
        if self._early:
            return any(each.awaited for each in self._lists.values())
        return self.needed and self.coming(self._first)

    @property
    def _early(self) -> bool:
        return monotonic() - self._begun < FIRST_LIST_SECONDS

    def coming(self, wanted: Iterable[Wanted]) -> bool:
        """Whether one of these lists is incomplete and has not failed so far."""
        lists = (self._lists[each] for each in wanted if each in self._lists)
        return any(each.awaited and not each.trouble for each in lists)

    @property
    def state(self) -> CacheState:
        """The state for metrics: the age of the oldest list in use, and the objects of all."""
        used = [each for each in self._reflectors() if not (each.refused or each.gone)]
        staleness = max((each.staleness for each in used), default=0.0)
        return CacheState(staleness, sum(len(each.objects) for each in used))

    async def run(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Follow the wanted lists until ``stop`` is set; raises defects."""
        ending = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                self._begin()
                due = asyncio.create_task(self._due.wait())
                await asyncio.wait(
                    (ending, due, *self._tasks.values()),
                    timeout=TICK_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                due.cancel()
                self._due.clear()
                self._end()
                self._note(watch)
        finally:
            ending.cancel()
            await self._stop_all()

    def _begin(self) -> None:
        for each, following in self._lists.items():
            if each not in self._tasks:
                self._tasks[each] = asyncio.ensure_future(self.follow(each, following))

    def _end(self) -> None:
        """Forget finished lists; raises their defects."""
        for each, task in [*self._tasks.items()]:
            if task.done():
                del self._tasks[each]
                task.result()

    async def _stop_all(self) -> None:
        for each in self._lists.values():
            each.stop()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        self._tasks = {}
        self._lists = {each: Following() for each in self.wanted}

    def _note(self, watch: WatchHealth) -> None:
        """Record the health of all lists; log once when a problem begins and once when it ends."""
        troubles = [each for each in self._lists.values() if each.trouble]
        watch.succeeded()
        if not troubles:
            self._since = 0.0
            if self._logged:
                self.log.write("info", "cluster", f"{self.name} are followed again")
            self._logged = ""
            return
        lost = [each for each in troubles if each.lost]
        refused = [each for each in troubles if each.reflector and each.reflector.refused]
        problem = (lost or refused or troubles)[0].trouble
        watch.failed(problem)
        now = monotonic()
        self._since = self._since or now
        meanwhile = "the last known state stays in use"
        if lost:
            meanwhile = self.instead
        elif refused:
            meanwhile = f"{self.instead}; grant the permissions list and watch"
        due = not self.muted and (lost or refused or now - self._since >= LASTING_SECONDS)
        if due and self._logged != meanwhile:
            self._logged = meanwhile
            message = f"cannot follow {self.name} ({meanwhile}): {problem}"
            self.log.write("error", "cluster", message)

    def _reflectors(self) -> "Iterator[Reflector]":
        for each in self._lists.values():
            if each.reflector is not None:
                yield each.reflector

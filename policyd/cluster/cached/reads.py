"""The objects of reads, in lists that are kept in step with the API server.

All reads of a kind and scope share one list. It keeps the fields that any of them uses, and a table
for each read, which each event updates.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from sys import getsizeof
from time import perf_counter

from policyd._core.lib.authorization import Failure
from policyd.admission.lookups.wanted import WantedReads, uncovered
from policyd.cluster.listing import list_path
from policyd.cluster.namespaces import kept
from policyd.cluster.objects import ObjectClient
from policyd.cluster.streams import TURN_SECONDS, key_of
from policyd.cluster.watching import Reflector, Watched
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.fields import KeyPath
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ObjectKey, ReadTable
from policyd.policy.kinds.served_resource import Served

# How often a request that waits for a first list checks whether it is complete.
POLL_SECONDS = 0.02
_NAMESPACE = ("metadata", "namespace")
_Place = tuple[str, str, str]  # apiVersion, kind and namespace


class ReadList:
    """The objects of one kind, in all namespaces or in one, as one of the lists of ``reads``."""

    def __init__(
        self, client: ObjectClient, served: Served, wanted: WantedReads, reads: "CachedReads"
    ) -> None:
        path = list_path(served, wanted.namespace if served.namespaced else "")
        self.served = served
        self.wanted = wanted
        self.full = False  # whether it was abandoned because it took too much memory
        self._reads = reads
        self._fields = kept(wanted.fields | {_NAMESPACE})
        self._tables: dict[CompiledRead, ReadTable] = {}
        # The objects in the tables, and their memory. A new list is built next to them.
        self._objects: dict[ObjectKey, JSONObject] = {}
        self._bytes = 0
        self._coming: dict[ObjectKey, int] = {}
        self._coming_bytes = 0
        self._settling: asyncio.Future[None] | None = None
        self._covered: dict[frozenset[KeyPath], bool] = {}
        self._filling: list[ReadTable] = []  # tables that are not complete yet
        self.reflector = Reflector(
            client, Watched(path.lstrip("/")), keep=self._keep, changed=self._changed
        )

    def is_full(self) -> bool:
        """Whether the list was abandoned because it took too much memory."""
        return self.full

    @property
    def usable(self) -> bool:
        """Whether the objects can be used."""
        return self.reflector.usable and not self.full

    @property
    def problem(self) -> str:
        """Why the objects cannot be used, if the problem lasts."""
        if self.full:
            return (
                f"they take more memory than --max-read-bytes ({self._reads.most >> 20} MiB) "
                "leaves for them next to the other reads"
            )
        reflector = self.reflector
        return reflector.problem if reflector.refused or reflector.gone else ""

    @property
    def bytes(self) -> int:
        """The approximate memory of the objects and tables."""
        tables = sum(each.bytes for each in self._tables.values())
        return self._bytes + self._coming_bytes + tables

    @property
    def key_errors(self) -> int:
        """The number of objects whose key is an error, summed over all indexes."""
        return sum(len(each.failed) for each in self._tables.values())

    def __len__(self) -> int:
        return len(self._objects)

    def table(self, read: CompiledRead) -> ReadTable:
        """The table of a read, filled on first use."""
        made = self._tables.get(read)
        if made is None:
            made = self._tables[read] = self._empty(read)
            for key, found in self._objects.items():
                made.put(key, found)
        return made

    async def fill(self, read: CompiledRead) -> None:
        """Make the table of a read in small steps, between which requests are answered."""
        known = self._tables.get(read)
        if known is not None:
            await _settled(known)
            return
        made, began = self._empty(read), perf_counter()
        self._filling.append(made)  # events also go to it
        try:
            for key in [*self._objects]:
                made.put(key, self._objects.get(key))
                if perf_counter() - began >= TURN_SECONDS:
                    await asyncio.sleep(0)
                    began = perf_counter()
        finally:
            self._filling.remove(made)
        self._tables.setdefault(read, made)
        await _settled(made)
        self._fits()

    def _empty(self, read: CompiledRead) -> ReadTable:
        resource = (self.served.group, self.served.resource)
        return ReadTable(read, resource, namespaced=self.served.namespaced)

    def covers(self, fields: frozenset[KeyPath]) -> bool:
        """Whether these fields are kept: equal reads of several policies may use different ones."""
        known = self._covered.get(fields)
        if known is None:
            known = self._covered[fields] = not uncovered(fields, self.wanted.fields)
        return known

    def begin(self, reads: Iterable[CompiledRead]) -> None:
        """Fill the tables of these reads while the first list arrives."""
        self._tables = {read: self._empty(read) for read in reads if self.covers(read.fields)}

    def keep(self, reads: Collection[CompiledRead]) -> None:
        """Drop the tables of other reads."""
        self._tables = {read: table for read, table in self._tables.items() if read in reads}

    def _keep(self, found: JSONObject) -> JSONObject | None:
        """Return the kept part of an object of a list or an event."""
        if self.full:
            return None
        key, rest = key_of(found), self._fields(found)
        known = self._objects.get(key)
        if known == rest:
            return known  # a new list shares unchanged objects with the previous one
        if self.reflector.synced:
            self._expect(key, memory_of(rest))
        else:
            self._put(key, rest)  # the tables are not in use yet: the work is done in small steps
        return rest if self._fits() else None

    def _changed(self, namespace: str, name: str) -> None:
        if self.full:
            return
        there = self.reflector.objects
        keys: Iterable[ObjectKey] = ((namespace, name),)
        if name:
            self._reads.events[self.wanted.api_version, self.wanted.kind] += 1
            self._expect((namespace, name), 0)
        else:
            keys = [*(self._objects.keys() | there.keys())]
            self._coming, self._coming_bytes = {}, 0
        for key in keys:
            found = there.get(key)
            if found is not self._objects.get(key):
                self._put(key, found)
        if not name:
            self._settling = asyncio.ensure_future(self._settle())
        self._fits()

    async def _settle(self) -> None:
        for each in [*self._tables.values()]:
            await _settled(each)

    def _expect(self, key: ObjectKey, size: int) -> None:
        """Record the bytes that a new version of an object takes besides the one in the tables."""
        self._coming_bytes += size - self._coming.pop(key, 0)
        if size:
            self._coming[key] = size

    def _put(self, key: ObjectKey, found: JSONObject | None) -> None:
        former = self._objects.pop(key, None)
        self._bytes -= 0 if former is None else memory_of(former)
        if found is not None:
            self._objects[key] = found
            self._bytes += memory_of(found)
        for table in (*self._tables.values(), *self._filling):
            table.put(key, found)

    def _fits(self) -> bool:
        """Abandon this list, the last to grow, if all lists together take too much memory."""
        if self._reads.bytes(self) > self._reads.most:
            self.full = True
            self._objects, self._tables, self._bytes = {}, {}, 0
            self._coming, self._coming_bytes = {}, 0
        return not self.full


class CachedReads:
    """The lists in use, of about ``most`` bytes in total. A new list of a kind and scope is used
    once it is complete; until then the previous one answers the reads that it can.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.events: Counter[tuple[str, str]] = Counter()  # by kind, with its apiVersion
        self._lists: dict[_Place, list[ReadList]] = {}
        self._places: dict[CompiledRead, _Place] = {}
        self._wanted: dict[_Place, list[WantedReads]] = {}
        self._problems: dict[_Place, str] = {}

    def want(self, wanted: Iterable[WantedReads]) -> None:
        """From now on answer only these reads."""
        self._wanted, self._places = {}, {}
        self.expect(wanted)
        for place, lists in [*self._lists.items()]:
            if place not in self._wanted:
                del self._lists[place]
            for listed in lists:
                listed.keep(self._reads(place))

    def expect(self, wanted: Iterable[WantedReads]) -> list[WantedReads]:
        """Also answer these reads; return the new ones. Other reads keep their lists."""
        new: list[WantedReads] = []
        for each in wanted:
            known = self._wanted.setdefault(each.place, [])
            if each not in known or not each.reads <= self._reads(each.place):
                new.append(each)
                known.append(each)
            for read in each.reads:
                self._places.setdefault(read, each.place)
        return new

    def _reads(self, place: _Place) -> frozenset[CompiledRead]:
        return frozenset(read for each in self._wanted.get(place, ()) for read in each.reads)

    def add(self, listed: ReadList) -> None:
        """Use this list as soon as it is complete."""
        place = listed.wanted.place
        listed.begin(self._reads(place))
        self._lists[place] = [*self._usable(place), listed]

    def failed(self, wanted: WantedReads, why: str) -> None:
        """Record why there is no list."""
        place = wanted.place
        self._problems[place] = why
        self._lists[place] = self._usable(place)

    def bytes(self, listed: ReadList | None = None) -> int:
        """The approximate memory of all lists, including this one."""
        every = {id(each): each for lists in self._lists.values() for each in lists}
        if listed is not None:
            every[id(listed)] = listed
        return sum(each.bytes for each in every.values())

    def in_use(self) -> Iterator[tuple[tuple[str, str], ReadList | None]]:
        """Yield each kind that policies read, once for each scope, with the list that answers."""
        for place in self._wanted:
            lists = self._usable(place)
            yield place[:2], lists[-1] if lists else None

    async def fill(self, wanted: Iterable[WantedReads]) -> bool:
        """Make the tables of these reads; return whether each is complete or has failed."""
        return all([await self._filled(each) for each in wanted])

    async def _filled(self, wanted: WantedReads) -> bool:
        listed = self._answering(wanted.place, wanted.fields)
        if listed is None:
            return bool(self._problem(wanted.place))
        for read in wanted.reads:
            await listed.fill(read)
        return True

    def known_table(self, read: CompiledRead) -> ReadTable | Failure | None:
        """The objects of a read; None while the first list is not complete."""
        place = self._places.get(read)
        if place is None:
            return Failure("the objects are not followed")
        listed = self._answering(place, read.fields)
        if listed is not None:
            return _current(listed, read)
        problem = self._problem(place)
        return Failure(problem) if problem else None

    async def table(self, read: CompiledRead) -> ReadTable | Failure:
        """The objects of a read as soon as they are known."""
        while (found := self.known_table(read)) is None:
            await asyncio.sleep(POLL_SECONDS)
        return found

    def _problem(self, place: _Place) -> str:
        """Why no list answers, if the problem lasts."""
        found = [each.problem for each in self._lists.get(place, ()) if each.problem]
        return found[-1] if found else self._problems.get(place, "")

    def _answering(self, place: _Place, fields: frozenset[KeyPath]) -> ReadList | None:
        """Return the newest list that has these fields, if there is one."""
        lists = self._lists.get(place, [])
        for listed in reversed(lists):
            if listed.usable and listed.covers(fields):
                self._problems.pop(place, None)
                if len(lists) > 1 and all(
                    listed.covers(each.fields) for each in self._wanted[place]
                ):
                    del lists[: lists.index(listed)]
                return listed
        return None

    def _usable(self, place: _Place) -> list[ReadList]:
        return [each for each in self._lists.get(place, ()) if each.usable]


async def _settled(table: ReadTable) -> None:
    """Bring the indexes of a table up to date, in small steps."""
    while table.settle():
        await asyncio.sleep(0)


def memory_of(found: JSON) -> int:
    """Return the approximate bytes of a value, whose field names are mostly shared by objects."""
    total, waiting = 0, [found]
    while waiting:
        value = waiting.pop()
        total += getsizeof(value)
        if isinstance(value, dict):
            total += sum(map(len, value))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return total


def _current(listed: ReadList, read: CompiledRead) -> ReadTable | Failure:
    seconds = listed.reflector.staleness
    if seconds > read.staleness_seconds:
        return Failure(
            f"the objects are {seconds:.0f} s old, and maxStalenessSeconds is "
            f"{read.staleness_seconds:g}: {listed.reflector.problem}"
        )
    return listed.table(read)

"""The objects of reads, in lists that are kept in step with the API server.

There is one list for a kind and a scope, whatever the number of policies and reads. It keeps the
fields that any of them uses, and a table for each read, which is updated with each event.
"""

import asyncio
from collections.abc import Collection, Iterable

from policyd._core.lib.authorization import Failure
from policyd.admission.lookups.wanted import WantedReads
from policyd.cluster.listing import list_path
from policyd.cluster.namespaces import kept
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched
from policyd.json_types import JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ObjectKey, ReadTable
from policyd.policy.kinds.served_resource import Served

_NAMESPACE = ("metadata", "namespace")


class ReadList:
    """The objects of one kind, of all namespaces or of one."""

    def __init__(self, client: ObjectClient, served: Served, wanted: WantedReads) -> None:
        path = list_path(served, wanted.namespace if served.namespaced else "")
        self.served = served
        self.wanted = wanted
        self.reflector = Reflector(
            client,
            Watched(path.lstrip("/")),
            keep=kept(wanted.fields | {_NAMESPACE}),
            changed=self._changed,
        )
        self._tables: dict[CompiledRead, ReadTable] = {}
        self._objects: dict[ObjectKey, JSONObject] = {}  # those that the tables have

    def table(self, read: CompiledRead) -> ReadTable:
        """The table of a read, which is filled when it is first needed."""
        made = self._tables.get(read)
        if made is None:
            resource = (self.served.group, self.served.resource)
            made = ReadTable(read, resource, namespaced=self.served.namespaced)
            for key, found in self._objects.items():
                made.put(key, found)
            self._tables[read] = made
        return made

    def covers(self, read: CompiledRead) -> bool:
        """Whether the fields that the read uses are kept."""
        kept = self.wanted.fields
        return all(any(path[:end] in kept for end in range(len(path) + 1)) for path in read.fields)

    def keep(self, reads: Collection[CompiledRead]) -> None:
        """Have tables for these reads, and no others."""
        self._tables = {read: table for read, table in self._tables.items() if read in reads}
        for each in reads:
            self.table(each)

    def _changed(self, namespace: str, name: str) -> None:
        there = self.reflector.objects
        keys: Iterable[ObjectKey] = ((namespace, name),)
        if not name:
            keys = self._objects.keys() | there.keys()
        for key in [*keys]:
            found = there.get(key)
            if found == self._objects.get(key):
                continue
            if found is None:
                del self._objects[key]
            else:
                self._objects[key] = found
            for table in self._tables.values():
                table.put(key, found)


class CachedReads:
    """The lists that are in use. Of a kind and scope the last one is used once it is complete; the
    one before answers until then.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[str, str, str], list[ReadList]] = {}
        self._places: dict[CompiledRead, tuple[str, str, str]] = {}
        self._reads: dict[tuple[str, str, str], frozenset[CompiledRead]] = {}
        self._problems: dict[tuple[str, str, str], str] = {}

    def want(self, wanted: Iterable[WantedReads]) -> None:
        """Answer these reads from now on, and no others."""
        self._reads = {each.place: each.reads for each in wanted}
        self._places = {read: place for place, reads in self._reads.items() for read in reads}
        for place in [*self._lists]:
            if place not in self._reads:
                del self._lists[place]
        for place, lists in self._lists.items():
            for each in lists:
                each.keep(self._reads[place])

    def add(self, listed: ReadList) -> None:
        """Use this list as soon as it is complete."""
        place = listed.wanted.place
        listed.keep(self._reads.get(place, frozenset()))
        self._lists.setdefault(place, []).append(listed)
        self._problems.pop(place, None)

    def failed(self, wanted: WantedReads, why: str) -> None:
        """Note why there is no list."""
        self._problems[wanted.place] = why

    def known_table(self, read: CompiledRead) -> ReadTable | Failure | None:
        """The objects of a read; None while the first list is not complete."""
        place = self._places.get(read)
        if place is None:
            return Failure("the objects are not followed")
        lists = self._lists.get(place, [])
        for listed in reversed(lists):
            newest = listed is lists[-1]
            if listed.reflector.usable and (newest or listed.covers(read)):
                if newest:
                    del lists[:-1]
                return _current(listed, read)
        problem = self._problems.get(place, "")
        refused = [each for each in lists if each.reflector.refused or each.reflector.gone]
        if refused:
            return Failure(refused[-1].reflector.problem)
        return Failure(problem) if problem else None

    async def table(self, read: CompiledRead) -> ReadTable | Failure:
        """The objects of a read as soon as they are known."""
        while (found := self.known_table(read)) is None:
            await asyncio.sleep(POLL_SECONDS)
        return found


# How often a request that waits for a first list looks whether it is complete.
POLL_SECONDS = 0.02


def _current(listed: ReadList, read: CompiledRead) -> ReadTable | Failure:
    seconds = listed.reflector.staleness
    if seconds > read.staleness_seconds:
        return Failure(
            f"the objects are {seconds:.0f} s old, and maxStalenessSeconds is "
            f"{read.staleness_seconds:g}: {listed.reflector.problem}"
        )
    return listed.table(read)

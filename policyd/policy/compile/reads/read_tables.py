"""Objects of the cluster as reads show them: in order of namespace and name, or by key. Fetches
nothing: the documents of a command, or lists that are kept in step with an API server, fill tables.
"""

from bisect import bisect_left, insort
from typing import Protocol

from policyd._core.values.errors import CelError
from policyd._core.values.types import KeyedMap
from policyd.bounded_text import bounded
from policyd.json_types import JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.model.reads import SAME

# Namespace and name of an object.
ObjectKey = tuple[str, str]
ReadIndex = dict[str, list[JSONObject]]
Shown = list[JSONObject] | ReadIndex | KeyedMap
# Characters that are kept of an error of a key: it may quote the object.
MAX_ERROR_CHARS = 200
# Keys whose lists are made at a time.
SETTLED_KEYS = 100
# About what an object takes in a table, and each of its keys beside its characters.
_OBJECT_BYTES, _KEY_BYTES = 200, 450


class ReadingRequest(Protocol):
    """The parts of a request that decide which objects it sees."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def resource(self) -> tuple[str, str, str]: ...


class ShownTable(Protocol):
    """The objects of one read; ``changes`` grows when they change."""

    changes: int

    def shown_to(self, request: ReadingRequest, *, keyed: bool = False) -> Shown | CelError: ...


class ReadSource(Protocol):
    """Has the objects of reads in memory."""

    def table(self, read: CompiledRead) -> ShownTable | CelError:
        """Return the objects of a read; the error if they are not known."""


class ReadTable:
    """The objects of one read. Lists that it has shown never change: new ones replace them."""

    def __init__(self, read: CompiledRead, resource: tuple[str, str], *, namespaced: bool) -> None:
        self.read = read
        # Group and resource, by which the object of a request is recognized.
        self.resource = resource
        self.namespaced = namespaced
        # Whether there is a part for each namespace.
        self.divided = namespaced and read.namespace == SAME
        self.place = read.place if namespaced else ""
        self.failed: dict[ObjectKey, str] = {}  # objects whose key is an error
        self.changes = 0
        self.bytes = 0  # about what the table takes beside the objects
        self._parts: dict[str, _Part] = {}

    def put(self, key: ObjectKey, found: JSONObject | None) -> None:
        """Add or replace an object; None removes it."""
        read, place = self.read, key[0] if self.divided else ""
        self.changes += 1
        self.failed.pop(key, None)
        part = self._parts.get(place)
        if part is not None:
            self.bytes -= part.remove(key)
        if found is None or (self.place and key[0] != self.place) or not read.selects(found):
            if part is not None and not part:
                del self._parts[place]
            return
        keys = read.keys_of(found)
        if isinstance(keys, CelError):
            self.failed[key] = bounded(keys.message, MAX_ERROR_CHARS)
            return
        if part is None:
            part = self._parts[place] = _Part(indexed=read.key is not None)
        self.bytes += part.add(key, found, keys)

    def settle(self) -> bool:
        """Bring a part of the indexes up to date, so that no request has to; return whether there
        is more to do.
        """
        whole = None if self.divided else self._parts.get("")  # tables of namespaces are small
        return whole is not None and whole.settle(SETTLED_KEYS)

    def shown_to(self, request: ReadingRequest, *, keyed: bool = False) -> Shown | CelError:
        """Return what a request sees: everything but its own object, unless the read keeps it.
        ``keyed``: it looks up keys and does nothing else, so that an index need not be copied.
        """
        place = request.namespace if self.divided else ""
        if self.divided and not place:
            return CelError(
                f"reads.{self.read.name} has the objects of the request's namespace, "
                f"and this request has none: write namespace: any"
            )
        part = self._parts.get(place)
        if part is None:
            return {} if self.read.key is not None else []
        own: ObjectKey | None = None
        group, _, resource = request.resource
        if not self.read.include_self and (group, resource) == self.resource:
            own = (request.namespace if self.namespaced else "", request.name)
        return part.shown(own, keyed)


class _Part:
    """Objects in order, and by key if they are ``indexed``."""

    def __init__(self, *, indexed: bool) -> None:
        self._order: list[ObjectKey] = []
        self._objects: dict[ObjectKey, tuple[JSONObject, tuple[str, ...]]] = {}
        self.indexed = indexed
        self._index: ReadIndex = {}
        # The objects of each key, in order.
        self._members: dict[str, list[ObjectKey]] = {}
        self.outdated: set[str] = set()  # keys whose list is not made yet
        self._list: list[JSONObject] | None = None

    def __bool__(self) -> bool:
        return bool(self._objects)

    def add(self, key: ObjectKey, found: JSONObject, keys: tuple[str, ...]) -> int:
        """Add an object; return about how many bytes its entries take."""
        self._objects[key] = found, keys
        self._list = None
        if not self.indexed:
            insort(self._order, key)
        for each in keys:
            insort(self._members.setdefault(each, []), key)
        self.outdated.update(keys)
        return _entry_bytes(keys)

    def remove(self, key: ObjectKey) -> int:
        """Remove an object; return what ``add`` returned for it, or 0 if it is not there."""
        former = self._objects.pop(key, None)
        if former is None:
            return 0
        self._list = None
        keys = former[1]
        if not self.indexed:
            del self._order[bisect_left(self._order, key)]
        for each in keys:
            members = self._members[each]
            del members[bisect_left(members, key)]
        self.outdated.update(keys)
        return _entry_bytes(keys)

    def settle(self, most: int | None = None) -> bool:
        """Make the lists of keys that have other objects than before, at most so many; return
        whether there are more.
        """
        outdated, index = self.outdated, self._index
        for _ in range(len(outdated) if most is None else min(most, len(outdated))):
            key = outdated.pop()
            members = self._members[key]
            if members:
                index[key] = [self._objects[each][0] for each in members]
            else:
                del self._members[key]
                index.pop(key, None)
        return bool(outdated)

    def shown(self, own: ObjectKey | None, keyed: bool) -> Shown:
        """Return the objects without ``own``."""
        hidden = None if own is None else self._objects.get(own)
        if not self.indexed:
            if self._list is None:
                self._list = [self._objects[key][0] for key in self._order]
            if hidden is None:
                return self._list
            return [each for each in self._list if each is not hidden[0]]
        if self.outdated:
            self.settle()
        index = self._index
        if hidden is None or not hidden[1]:
            return index
        left = {
            key: [each for each in index[key] if each is not hidden[0]] or None for key in hidden[1]
        }
        if keyed:
            return KeyedMap(left, index)
        return {key: found for key, found in {**index, **left}.items() if found is not None}


def _entry_bytes(keys: tuple[str, ...]) -> int:
    return _OBJECT_BYTES + sum(_KEY_BYTES + len(each) for each in keys)

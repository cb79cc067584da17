"""Which policies change what another policy had written in the same request. Changes nothing.

A place is in conflict if one policy wrote it and a later one of another name gives it another value
or removes it: new keys, items put into a list and the same value once more are none. Most changes
are found harmless by the paths of their operations; only for the others are the trees compared.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from policyd._core.json.equality import equal
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import ListKeys

SHOWN = 5  # places that one line of the log names
_INDEX = re.compile(r"/\d+(?=/|$)")
_ABSENT = object()


class _Item(NamedTuple):
    """A step to the item of a list that has these values under the list's keys."""

    keys: tuple[str, ...]
    values: tuple[JSON, ...]


_Path = tuple[str | _Item, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """``writers`` (sorted) had written ``places``, and they changed again."""

    places: tuple[str, ...]
    writers: tuple[str, ...]

    @property
    def text(self) -> str:
        """One line; no value of the object is in it but the keys of list items."""
        more = f" and {len(self.places) - SHOWN} more" if len(self.places) > SHOWN else ""
        writers = ", ".join(f"{writer!r}" for writer in self.writers)
        word = "policies" if len(self.writers) > 1 else "policy"
        return f"changes {', '.join(self.places[:SHOWN])}{more}, written by {word} {writers}"


# The policy, its operations, and the object before and after them.
_Change = tuple[str, Sequence[JSONObject], JSON, JSON]


class Conflicts:
    """The changes of one request, in their order. ``keys`` gives the keys of the list at a path."""

    def __init__(self, original: JSON, keys: ListKeys | None) -> None:
        self._original = original
        self._keys = keys
        self._changes: list[_Change] = []
        self._only_adds = True
        self._indexed = 0  # how many of them are in these three
        self._removed: set[str] = set()
        self._written: set[str] = set()
        self._above: set[str] = set()

    def add(
        self, policy: str, operations: Sequence[JSONObject], before: JSON, after: JSON
    ) -> Conflict | None:
        """Note a change; the conflict that it makes with those noted before."""
        found = None
        adds = True
        for operation in operations:
            if operation["op"] != "add":
                adds = False
                break
        # Where nothing was removed, keys and items that are added were nobody's.
        if self._changes and not (adds and self._only_adds):
            self._index()
            if any(map(self._suspect, operations)):
                found = self._conflict(policy, before, after)
        self._only_adds = self._only_adds and adds
        self._changes.append((policy, operations, before, after))
        return found

    def _index(self) -> None:
        for _, operations, _, _ in self._changes[self._indexed :]:
            for operation in operations:
                place = _INDEX.sub("/*", operation["path"])
                (self._removed if operation["op"] == "remove" else self._written).add(place)
                self._above.update(_ancestors(place))
        self._indexed = len(self._changes)

    def _suspect(self, operation: JSONObject) -> bool:
        """Whether the operation may touch what was written; all items of a list are one place."""
        place = _INDEX.sub("/*", operation["path"])
        removed, written = self._removed, self._written
        if operation["op"] == "add":  # a key that is not there: somebody may have removed it
            return place in removed
        if place in written or place in self._above:
            return True
        return any(up in written for up in _ancestors(place))

    def _conflict(self, policy: str, before: JSON, after: JSON) -> Conflict | None:
        places: list[str] = []
        writers: set[str] = set()
        for path in _changed_twice(self._original, before, after, self._keys, ()):
            writer = self._writer(path)
            if writer is not None and writer != policy:
                places.append(_shown(path))
                writers.add(writer)
        return Conflict(tuple(places), tuple(sorted(writers))) if places else None

    def _writer(self, path: _Path) -> str | None:
        """Who changed a place last."""
        for policy, _, before, after in reversed(self._changes):
            if not _same(_at(before, path), _at(after, path)):
                return policy
        return None


def _changed_twice(
    original: JSON, before: JSON, after: JSON, keys: ListKeys | None, path: _Path
) -> Iterator[_Path]:
    """The places that differ between the first two and between the last two."""
    if before is after or original is before or _same(original, before) or _same(before, after):
        return
    if before is _ABSENT and isinstance(original, dict) and isinstance(after, dict):
        before = {}  # a map goes with its last key: which keys are back?
    if isinstance(before, dict) and isinstance(after, dict):
        old = original if isinstance(original, dict) else {}
        for key in before | after:
            one, two, three = (tree.get(key, _ABSENT) for tree in (old, before, after))
            yield from _changed_twice(one, two, three, keys, (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items_changed_twice(original, before, after, keys, path)
    elif before is not _ABSENT or original is not _ABSENT:
        yield path


def _items_changed_twice(
    original: JSON, before: list[JSON], after: list[JSON], keys: ListKeys | None, path: _Path
) -> Iterator[_Path]:
    """Items are told apart by their keys; without such, one that was added must not vanish."""
    old = original if isinstance(original, list) else []
    names = keys(tuple(0 if isinstance(step, _Item) else step for step in path)) if keys else None
    if names is None:
        if any(item not in old and item not in after for item in before):
            yield path
        return
    seen: dict[str, None] = {}
    for item in (*before, *after):
        step = _Item(names, tuple(_member(item, name) for name in names))
        if repr(step) not in seen:
            seen[repr(step)] = None
            one, two, three = (_at(tree, (step,)) for tree in (old, before, after))
            yield from _changed_twice(one, two, three, keys, (*path, step))


def _at(tree: JSON, path: _Path) -> JSON:
    """What stands at a path; _ABSENT where nothing does."""
    for step in path:
        if isinstance(step, str):
            tree = tree.get(step, _ABSENT) if isinstance(tree, dict) else _ABSENT
        else:
            items = tree if isinstance(tree, list) else ()
            fitting = (each for each in items if all(_fits(each, step)))
            tree = next(fitting, _ABSENT)
    return tree


def _fits(item: JSON, step: _Item) -> Iterator[bool]:
    for name, value in zip(step.keys, step.values, strict=True):
        yield _same(_member(item, name), value)


def _member(item: JSON, name: str) -> JSON:
    return item.get(name) if isinstance(item, dict) else None


def _same(one: JSON, other: JSON) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return equal(one, other)


def _ancestors(place: str) -> Iterator[str]:
    end = place.rfind("/")
    while end > 0:
        yield place[:end]
        end = place.rfind("/", 0, end)


def _shown(path: _Path) -> str:
    """``metadata.labels[example.com/x]``, ``spec.containers[name=web].image``."""
    text = ""
    for step in path:
        if isinstance(step, _Item):
            named = zip(step.keys, step.values, strict=True)
            text += "[" + ",".join(f"{key}={value}" for key, value in named) + "]"
        else:
            text += f".{step}" if re.fullmatch(r"[\w-]+", step) else f"[{step}]"
    return text.removeprefix(".")

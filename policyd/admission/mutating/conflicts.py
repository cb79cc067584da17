"""Finds policies that change a value that another policy set in the same request. Changes nothing.

A path is in conflict if one policy wrote it and a later policy with another name sets a different
value or removes it. New keys, items added to a list, and setting the same value again are no
conflict. The paths of the operations rule out most conflicts; trees are compared only for the rest.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from policyd._core.json.equality import equal
from policyd._core.plan.mutated_tree import ChangeLog
from policyd.bounded_text import few
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.schemas import ListKeys
from policyd.policy.compile.compiled import CompiledPolicy

SHOWN = 5  # paths named in one log line
_INDEX = re.compile(r"/\d+(?=/|$)")
_ABSENT = object()


class _Item(NamedTuple):
    """A step to the list item that has these values under the list's keys."""

    keys: tuple[str, ...]
    values: tuple[JSON, ...]


_Path = tuple[str | _Item, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change of ``places`` that ``writers`` (sorted) had written before."""

    places: tuple[str, ...]
    writers: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return one line; it quotes no value of the object except the keys of list items."""
        writers = ", ".join(f"{writer!r}" for writer in self.writers)
        word = "policies" if len(self.writers) > 1 else "policy"
        return f"changes {few(self.places, SHOWN)}, written by {word} {writers}"


class Conflicts:
    """The changes of one request, in order. ``keys`` maps the path of a list to its keys. Changes
    that certainly do not conflict may be added to the ``log`` directly.
    """

    def __init__(self, original: JSON, keys: ListKeys | None) -> None:
        self.log = ChangeLog()
        self._original = original
        self._keys = keys
        self._indexed = 0  # the number of changes in these three
        self._removed: set[str] = set()
        self._written: set[str] = set()
        self._above: set[str] = set()

    def add(
        self, policy: CompiledPolicy, operations: list[JSONObject], before: JSON, after: JSON
    ) -> Conflict | None:
        """Record a change; return its conflict with the changes recorded before."""
        found = None
        if self.log.suspects(operations):
            self._index()
            if any(self._suspect(*each) for each in _changes(operations)):
                found = self._conflict(policy.name, before, after)
        self.log.add(policy, operations, before, after)
        return found

    def _index(self) -> None:
        for _, operations, _, _ in self.log.changes[self._indexed :]:
            for kind, place in _changes(operations):
                (self._removed if kind == "remove" else self._written).add(place)
                self._above.update(_ancestors(place))
        self._indexed = len(self.log.changes)

    def _suspect(self, kind: str, place: str) -> bool:
        """Whether an operation may touch a written path."""
        removed, written = self._removed, self._written
        if kind == "add":  # an absent key: another policy may have removed it
            return place in removed
        if place in written or place in self._above:
            return True
        return any(up in written for up in _ancestors(place))

    def _conflict(self, policy: str, before: JSON, after: JSON) -> Conflict | None:
        places: list[str] = []
        writers: set[str] = set()
        for path in _changed_twice(self._original, before, after, self._keys):
            writer = self._writer(path)
            if writer is not None and writer != policy:
                places.append(_shown(path))
                writers.add(writer)
        return Conflict(tuple(places), tuple(sorted(writers))) if places else None

    def _writer(self, path: _Path) -> str | None:
        """Return the policy that last changed a path."""
        for policy, _, before, after in reversed(self.log.changes):
            if not _same(_at(before, path), _at(after, path)):
                return str(policy.name)
        return None


def _changes(operations: Iterable[JSONObject]) -> set[tuple[str, str]]:
    """Return the kinds and paths of operations; all items of a list count as one path."""
    return {(each["op"], _INDEX.sub("/*", each["path"])) for each in operations}


def _changed_twice(
    original: JSON, before: JSON, after: JSON, keys: ListKeys | None
) -> Iterator[_Path]:
    """Yield the paths that differ between the first two trees and between the last two."""
    rest: list[tuple[JSON, JSON, JSON, _Path]] = [(original, before, after, ())]
    while rest:
        original, before, after, path = rest.pop()
        if before is after or original is before or _same(original, before) or _same(before, after):
            continue
        if before is _ABSENT and isinstance(original, dict) and isinstance(after, dict):
            before = {}  # a map is removed with its last key; find the keys that are back
        steps: Iterable[str | _Item] = ()
        if isinstance(before, dict) and isinstance(after, dict):
            steps = before | after
        elif isinstance(before, list) and isinstance(after, list):
            names = _names(keys, path)
            if names is not None:
                steps = _items(names, before, after)
            elif any(_absent(item, original) and _absent(item, after) for item in before):
                yield path  # without keys, an added item must not disappear
        elif before is not _ABSENT or original is not _ABSENT:
            yield path
        trees = (original, before, after)
        below = [(*(_at(tree, (step,)) for tree in trees), (*path, step)) for step in steps]
        rest += reversed(below)


def _names(keys: ListKeys | None, path: _Path) -> tuple[str, ...] | None:
    """Return the keys of the list at a path."""
    if not keys:
        return None
    return keys(tuple(0 if isinstance(step, _Item) else step for step in path))


def _items(names: tuple[str, ...], before: list[JSON], after: list[JSON]) -> Iterable[_Item]:
    """Return the steps to the items of two lists, those with the same keys once."""
    steps = (_Item(names, tuple(_member(item, name) for name in names)) for item in before + after)
    first: dict[tuple[tuple[type, object], ...], _Item] = {}
    for step in steps:
        first.setdefault(tuple(map(_identity, step.values)), step)
    return first.values()


def _identity(value: JSON) -> tuple[type, object]:
    """Return something hashable that is equal for equal scalars of one type."""
    return type(value), id(value) if isinstance(value, dict | list) else value


def _absent(item: JSON, items: JSON) -> bool:
    return not isinstance(items, list) or not any(_same(item, each) for each in items)


def _at(tree: JSON, path: _Path) -> JSON:
    """Return the value at a path; _ABSENT if there is none."""
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
    """Format a path: ``metadata.labels[example.com/x]``, ``spec.containers[name=web].image``."""
    text = ""
    for step in path:
        if isinstance(step, _Item):
            named = zip(step.keys, step.values, strict=True)
            text += "[" + ",".join(f"{key}={_plain(value)}" for key, value in named) + "]"
        else:
            text += f".{step}" if re.fullmatch(r"[\w-]+", step) else f"[{step}]"
    return text.removeprefix(".")


def _plain(value: JSON) -> str:
    return type(value).__name__ if isinstance(value, dict | list) else str(value)

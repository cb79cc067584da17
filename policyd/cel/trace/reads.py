"""Finds the fields of an object that an evaluation read, and the field that its value is about.
Evaluates nothing.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from policyd._core.values.types import Optional
from policyd.json_types import JSON, FieldPath


class Read(NamedTuple):
    """A field that was read, whether it exists or not. ``present``: it was only tested for
    presence, and exists.
    """

    path: FieldPath
    present: bool = False


Reads = frozenset[Read]
NOTHING: Reads = frozenset()
_HOLDERS = (dict, list)  # dict | list would create a union for each value


class ObjectFields:
    """The fields of the object that a policy sees as ``name``: ``object``, or ``oldObject``.

    Finds objects and lists by identity, so they keep their paths wherever an expression got them:
    from a variable, a filtered list, two concatenated lists.
    """

    def __init__(self, name: str = "", root: JSON = None) -> None:
        self.name = name
        self.root = root
        self._paths: dict[int, FieldPath | None] = {}
        waiting: list[tuple[JSON, FieldPath]] = [(root, ())]
        while waiting:
            value, path = waiting.pop()
            if self._paths.get(id(value), path) is None:
                continue
            # A value at two paths has no certain path, and neither have its parts.
            self._paths[id(value)] = None if id(value) in self._paths else path
            inside = _held(value)
            waiting += [(held, (*path, key)) for key, held in inside if isinstance(held, _HOLDERS)]

    def path_of(self, value: object) -> FieldPath | None:
        """Return the path of an object or list within the object; None for all other values."""
        held = value.value if isinstance(value, Optional) and value else value
        return self._paths.get(id(held)) if isinstance(held, dict | list) else None

    def about(self, reads: Iterable[Read]) -> FieldPath:
        """Return the only field that was read, or the longest existing path that all read fields
        share. Empty for the whole object, and if nothing was read.
        """
        every = set(reads)
        above = {read.path[:end] for read in every for end in range(len(read.path))}
        # has(a) || a.b: the test of a only guards reads below it.
        paths = {read.path for read in every if not (read.present and read.path in above)}
        if len(paths) < 2:
            return next(iter(paths), ())
        return self._existing(_common(paths))

    def _existing(self, path: FieldPath) -> FieldPath:
        value = self.root
        for end, step in enumerate(path):
            found = dict(_held(value)).get(step)
            if found is None:
                return path[:end]
            value = found
        return path


def _held(value: JSON) -> Iterator[tuple[str | int, JSON]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _common(paths: Iterable[FieldPath]) -> FieldPath:
    """Return the longest common path."""
    first, *others = paths
    for other in others:
        same = zip(first, other, strict=False)
        length = min(len(first), len(other))
        first = first[: next((at for at, (a, b) in enumerate(same) if a != b), length)]
    return first

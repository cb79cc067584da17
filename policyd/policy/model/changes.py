"""Paths into an object, ``spec.containers[0].image``, and setting and removing what they name.

    name                 a field
    containers[0]        an item of a list; containers.0 is the same
    containers[+]        one more item at the end of a list
    labels['a.b/c']      a key with dots or slashes

Knows no schema: ``checks/suite.py`` compares the names with the kinds of Kubernetes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from policyd.json_types import JSONObject

APPEND = "+"
_QUOTES = "'\""


class PathError(ValueError):
    """A path that is not one, or that the object does not have; ``path`` is the one given."""

    def __init__(self, path: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


def parts_of(path: str) -> list[str]:
    """Return the names and indexes of a path; raises PathError."""
    if path.startswith("/"):
        names = [each.replace("~1", "/").replace("~0", "~") for each in path[1:].split("/")]
        written = _written(APPEND if name == "-" else name for name in names)
        raise PathError(path, "is a path of a JSON Patch", f"write {written}")
    parts: list[str] = []
    at = 0
    while at < len(path):
        if path[at] == "[":
            part, at = _bracketed(path, at)
        else:
            if path[at] == "." and parts:
                at += 1
            end = min((i for i in (path.find(".", at), path.find("[", at)) if i >= 0), default=-1)
            part, at = (path[at:], len(path)) if end < 0 else (path[at:end], end)
        if not part:
            raise PathError(path, "is not a path", "write it as in spec.containers[0].image")
        parts.append(part)
    if not parts or path.endswith("."):
        raise PathError(path, "is not a path", "write it as in spec.containers[0].image")
    return parts


def changed(obj: JSONObject, values: Mapping[str, Any], removed: Iterable[str]) -> JSONObject:
    """Return a copy of an object in which ``values`` are set at their paths and then the
    ``removed`` ones are gone; raises PathError.

    Maps that are missing are created, items of lists are not. Indexes are those before a removal.
    """
    result: Any = obj
    for path, value in values.items():
        result = _with(result, parts_of(path), value, path)
    leaving = [(parts_of(path), path) for path in removed]
    for parts, path in sorted(leaving, key=lambda row: _order(row[0]), reverse=True):
        result = _without(result, parts, path)
    return dict(result)


def _bracketed(path: str, at: int) -> tuple[str, int]:
    """Return the part in brackets that begin at ``at``, and the index after them."""
    quote = path[at + 1 : at + 2]
    closing = f"{quote}]" if quote and quote in _QUOTES else "]"
    start = at + len(closing)
    end = path.find(closing, start)
    if end < 0:
        raise PathError(path, "is not a path", f"{path[at:]} has no {closing}")
    after = end + len(closing)
    if after < len(path) and path[after] not in ".[":
        raise PathError(path, "is not a path", f"write . or [ before {path[after:]}")
    return path[start:end], after


def _written(parts: Iterable[str]) -> str:
    """Return the path of these parts."""
    written = "".join(f"['{part}']" if "." in part or "/" in part else f".{part}" for part in parts)
    return written.replace(f".{APPEND}", f"[{APPEND}]").removeprefix(".")


def _appending(path: str, parts: list[str]) -> str:
    """Return how to add an item to the list that the last ``parts`` of a path are in."""
    return f"{_written([*parts_of(path)[: -len(parts)], APPEND])}: {{…}} adds an item"


def _with(value: Any, parts: list[str], new: Any, path: str) -> Any:
    if not parts:
        return new
    part, rest = parts[0], parts[1:]
    if isinstance(value, list):
        index = len(value) if part == APPEND else _index(value, parts, path, adds=True)
        inner = value[index] if index < len(value) else None
        return [*value[:index], _with(inner, rest, new, path), *value[index + 1 :]]
    if value is None and part == APPEND:
        return [_with(None, rest, new, path)]
    _require_map({} if value is None else value, part, path)
    if value is None and part.isdigit():
        raise PathError(path, f"[{part}]: the object has no such list", _appending(path, parts))
    members = value or {}
    return {**members, part: _with(members.get(part), rest, new, path)}


def _without(value: Any, parts: list[str], path: str) -> Any:
    part, rest = parts[0], parts[1:]
    if isinstance(value, list):
        index = _index(value, parts, path)
        kept = [_without(value[index], rest, path)] if rest else []
        return [*value[:index], *kept, *value[index + 1 :]]
    _require_map(value, part, path)
    if part not in value:
        known = ", ".join(value)
        raise PathError(path, f"{part}: the object has no such field", f"it has {known or 'none'}")
    if rest:
        return {**value, part: _without(value[part], rest, path)}
    return {key: item for key, item in value.items() if key != part}


def _require_map(value: Any, part: str, path: str) -> None:
    if not isinstance(value, dict):
        found = "null" if value is None else type(value).__name__
        shown = {"str": "a string", "bool": "a boolean", "int": "a number", "float": "a number"}
        raise PathError(path, f"{part}: {shown.get(found, found)} has no fields")


def _index(items: list[Any], parts: list[str], path: str, *, adds: bool = False) -> int:
    part = parts[0]
    if not part.isdigit():
        raise PathError(path, f"{part}: a list has no fields", "write an index such as [0]")
    if int(part) >= len(items):
        count = "1 item" if len(items) == 1 else f"{len(items)} items"
        hints = ["they count from 0"] if items and int(part) == len(items) else []
        hints += [_appending(path, parts)] if adds else []
        raise PathError(path, f"[{part}]: the list has {count}", "; ".join(hints))
    return int(part)


def _order(parts: list[str]) -> list[tuple[bool, int, str]]:
    """Sort indexes as numbers, so that items are removed from the end of a list."""
    return [(each.isdigit(), int(each) if each.isdigit() else 0, each) for each in parts]

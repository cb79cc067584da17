"""What one step of a JSON Patch path does to an object or a list, in evanphx/json-patch's words.

No paths are walked here and nothing is copied: the functions work on the container they are given.
"""

import functools
import re
from typing import Any

from policyd._core.go_printing import quoted

MISSING = "missing value"
INVALID_INDEX = "invalid index referenced"
INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)


class KeyProblem(Exception):
    """What a container says of a key; the operation adds its own words."""


@functools.lru_cache(4096)
def segments(path: str) -> tuple[str, ...]:
    """The decoded segments; what stands before the first slash does not count."""
    return tuple(
        part.replace("~1", "/").replace("~0", "~") if "~" in part else part
        for part in path.split("/")[1:]
    )


@functools.lru_cache(4096)
def unknown_escape(text: str) -> str:
    """The first letter after a backslash in the Go literal that JSON does not know, or ""."""
    if text.isprintable() and "\\" not in text:
        return ""
    found = re.search(r"\\([^\"\\bfnrtu])", quoted(text).replace(r"\\", ""))
    return found[1] if found else ""


def member(container: Any, key: str) -> Any:
    """The value at the key; None for a missing key of an object."""
    if isinstance(container, dict):
        return container.get(key)
    index = index_of(key, container)
    if index >= len(container):
        raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
    return container[index]


def insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            index = index_of(key, container, room=1)
        except NoNumber as error:
            raise KeyProblem(f"value was not a proper array index: '{key}': {error}") from None
        if index > len(container):
            raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
        container.insert(index, value)


def delete(container: Any, key: str) -> None:
    if isinstance(container, dict):
        if key not in container:
            raise KeyProblem(f"Unable to remove nonexistent key: {key}: {MISSING}")
        del container[key]
        return
    index = index_of(key, container)
    if index >= len(container):
        raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
    del container[index]


class NoNumber(KeyProblem):
    """An index that is no integer, in the words of Go's ``strconv.Atoi``."""


def index_of(key: str, container: list[Any], *, room: int = 0) -> int:
    """The index; negative ones count from the end (with ``room`` for the item to come)."""
    if not INTEGER.match(key):
        raise NoNumber(f"strconv.Atoi: parsing {quoted(key)}: invalid syntax")
    index = int(key)
    if not -(2**63) <= index < 2**63:
        raise NoNumber(f"strconv.Atoi: parsing {quoted(key)}: value out of range")
    size_now = len(container) + room
    if index < -size_now:
        raise KeyProblem(f"Unable to access invalid index: {index}: {INVALID_INDEX}")
    return index + size_now if index < 0 else index


def equal(one: Any, other: Any) -> bool:
    """Equal as JSON texts are: 30 and 30.0 are (Go prints both alike), true and 1 are not.

    A null beside an object counts as an empty one, as the library has it.
    """
    if isinstance(one, dict) or isinstance(other, dict):
        if not isinstance(one, dict | None) or not isinstance(other, dict | None):
            return False
        one, other = one or {}, other or {}
        return one.keys() == other.keys() and all(
            (value is None) == (other[key] is None) and equal(value, other[key])
            for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def size(value: Any, limit: int) -> int:
    """How many values the tree holds, counted up to ``limit``."""
    count = 0
    waiting = [value]
    while waiting and count < limit:
        node = waiting.pop()
        count += 1
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return count

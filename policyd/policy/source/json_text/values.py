"""Read the concatenated values of a JSON text, as the API server does. Knows no files."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate
from math import isfinite
from typing import Any, NamedTuple

_VALUE = re.compile(r"\S")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_INT64 = range(-(1 << 63), 1 << 63)


class JsonValue(NamedTuple):
    """A value and its place: the offsets, the line (from 0), and the column that it begins at."""

    value: Any
    start: int
    end: int
    line: int
    indent: int


def is_json(text: str) -> bool:
    """Whether a text may be JSON, or is YAML in brackets: it begins with an object or a list."""
    return text.lstrip()[:1] in ("{", "[")


def values_in(text: str) -> list[JsonValue] | None:
    """Return the values of a text; None if it is not JSON, or has a key twice. Its size must be
    known to be bounded.
    """
    try:
        return list(_decoded(text))
    except (ValueError, RecursionError):
        return None


def size_of(text: str, deep: int) -> tuple[int, int]:
    """Return at least the nodes of a text, and the levels of lists and objects, without reading it:
    each node follows one sign, and strings hold none that counts. Levels are exact from ``deep``
    on, below it they are at least that.
    """
    bare = _STRING.sub("", text)
    levels = bare.count("[") + bare.count("{")
    nodes = bare.count(",") + bare.count(":") + levels + 1
    if levels >= deep:
        steps = (1 if each[0] in "[{" else -1 for each in _BRACKET.finditer(bare))
        levels = max(accumulate(steps))
    return nodes, levels


def _decoded(text: str) -> Iterator[JsonValue]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_int=_integer, parse_float=_real, parse_constant=_real
    )
    position = line = began = 0  # ``began``: the start of the line
    while found := _VALUE.search(text, position):
        start = found.start()
        line += text.count("\n", position, start)
        began = max(began, text.rfind("\n", position, start) + 1)
        value, position = decoder.raw_decode(text, start)
        yield JsonValue(value, start, position, line, start - began)
        line += text.count("\n", start, position)
        began = max(began, text.rfind("\n", start, position) + 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has a key twice")
    return result


def _integer(digits: str) -> int | float:
    """Parse an integer; one beyond 64 signed bits is a double, as in the API server."""
    if len(digits) > 20:
        return _real(digits)
    value = int(digits)
    return value if value in _INT64 else float(value)


def _real(digits: str) -> float:
    """Parse a float; NaN and too large numbers are not JSON: YAML reads them as strings."""
    real = float(digits)
    if not isfinite(real):
        raise ValueError("not a number")
    return real

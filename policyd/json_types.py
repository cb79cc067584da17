"""Types of JSON values for signatures, and shared walks over them: the objects in a value, all
strings, all keys.
"""

from collections.abc import Iterator
from typing import Any

JSON = Any  # a decoded JSON value: dict, list, str, int, float, bool or None
JSONObject = dict[str, Any]
# The path of a field: its names and indexes from the top of a document.
FieldPath = tuple[str | int, ...]


def object_in(value: JSON, *path: str) -> JSONObject:
    """Return the object at a path of fields; empty if there is none, or something else.

    >>> object_in({"spec": {"a": 1}}, "spec"), object_in({"spec": []}, "spec", "names")
    ({'a': 1}, {})
    """
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def strings_in(value: JSON) -> Iterator[str]:
    """Yield every string of a value, except keys, in order.

    >>> [*strings_in({"a": ["b", {"c": "d"}], "e": "f"})]
    ['b', 'd', 'f']
    """
    return (each for each in values_in(value) if isinstance(each, str))


def keys_in(value: JSON) -> Iterator[str]:
    """Yield the keys of all objects of a value."""
    return (key for each in values_in(value) if isinstance(each, dict) for key in each)


def values_in(value: JSON) -> Iterator[JSON]:
    """Yield a value and all values inside it, parents first. Not recursive."""
    stack = [value]
    while stack:
        each = stack.pop()
        yield each
        if isinstance(each, dict):
            stack += reversed(each.values())
        elif isinstance(each, list):
            stack += reversed(each)

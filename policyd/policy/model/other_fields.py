"""Fields and values that authors know from other kinds and tools: what to write instead.

Names that are only misspelt are not in ``other_fields.json``: ``findings`` finds the nearest.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from policyd.json_types import FieldPath


@functools.cache
def _table(section: str) -> Mapping[str, Mapping[str, str]]:
    """Return what to write instead: of fields of ``spec`` by kind (``elsewhere``), of other fields
    by the field around them (``habits``), of values in lower case by their field (``values``).
    """
    table = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    found: Mapping[str, Mapping[str, str]] = table[section]
    return found


def field_instead(kind: str, path: FieldPath) -> str:
    """Return the remedy for a field of another kind or tool in a document; empty if unknown."""
    name, around = str(path[-1]), _field(path[:-1])
    if len(path) == 2 and around == "spec" and name in _table("elsewhere").get(kind, {}):
        return _table("elsewhere")[kind][name]
    return _table("habits").get(around, {}).get(name, "")


def value_instead(path: FieldPath, value: str) -> str:
    """Return the value to write for one of another tool; empty if unknown."""
    return _table("values").get(_field(path), {}).get(value.lower(), "")


def _field(path: FieldPath) -> str:
    """Return the last field of a path that ends in items of lists."""
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "")

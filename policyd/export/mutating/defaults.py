"""Which fields the API server sets by default, by name. It does so after every mutation; policyd
sees the object without them until the request is over.

``defaults.json`` has ``fields``: by the name of a Go struct, the fields that are set in one that is
written without them, but for those with a fixed default; and rows of ``DerivedDefaults``.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from policyd.defaulting.rules import VALUES

_TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def _fields() -> dict[str, frozenset[str]]:
    """Return the fields that are set, by the name of a Go struct."""
    found = {name: frozenset(fields.split()) for name, fields in _TABLES["fields"].items()}
    for definition, fields in VALUES.items():
        name = definition.rpartition(".")[2]
        found[name] = found.get(name, frozenset()).union(fields)
    return found


FIELDS = _fields()
NAMES = frozenset().union(*FIELDS.values())


class DerivedDefaults(NamedTuple):
    """Fields that are set because others are written, in objects of these kinds (none: all)."""

    kinds: frozenset[str]
    written: frozenset[str]
    fields: frozenset[str]


def _rows(name: str) -> tuple[DerivedDefaults, ...]:
    return tuple(
        DerivedDefaults(**{key: frozenset(words.split()) for key, words in row.items()})
        for row in _TABLES[name]
    )


# Before 1.37 the resources of a Pod that are given in part follow its containers'.
POD_RESOURCES = _rows("podResources")
FOLLOWING = _rows("following")

"""The values of enumerated string fields of built-in kinds. Data and a lookup only.

``enums.json`` has the values of all supported versions (``tools/make_enums.py``).
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

_TABLE = Path(__file__).parent / "enums.json"


def built_in_enum(definition: str, field: str) -> frozenset[str]:
    """Return the values of a field of an OpenAPI definition; empty if it is no enumeration.

    ``field`` ends with ``[]`` for the items of a list, and with ``{}`` for the values of a map.
    """
    return frozenset(_table().get(definition, {}).get(field, ()))


def enum_of_type(name: str, field: str) -> frozenset[str]:
    """Return the values of a field of the types with a name, such as ``Container``, in any group
    and version; empty if it is no enumeration.
    """
    return _by_type().get((name, field), frozenset())


@functools.cache
def _by_type() -> Mapping[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], frozenset[str]] = {}
    for definition, fields in _table().items():
        for field, values in fields.items():
            key = definition.rpartition(".")[2], field
            found[key] = found.get(key, frozenset()).union(values)
    return found


@functools.cache
def _table() -> Mapping[str, Mapping[str, list[str]]]:
    table: Mapping[str, Mapping[str, list[str]]] = json.loads(_TABLE.read_bytes())
    return table

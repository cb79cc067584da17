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


@functools.cache
def _table() -> Mapping[str, Mapping[str, list[str]]]:
    table: Mapping[str, Mapping[str, list[str]]] = json.loads(_TABLE.read_bytes())
    return table

"""The tagged values of the conformance rows (``{"t": "int", "v": "1"}``) as values of the core."""

import base64
import math
from typing import Any

from policyd._core.values.types import Duration, MapKey, Optional, Timestamp, TypeValue, UInt

Tagged = dict[str, Any]


def decode(tagged: Tagged) -> Any:
    """The value itself."""
    kind, value = tagged["t"], tagged.get("v")
    match kind:
        case "null":
            return None
        case "bool" | "string":
            return value
        case "int":
            return int(str(value))
        case "uint":
            return UInt(int(str(value)))
        case "double":
            return float(str(value).replace("Infinity", "inf"))
        case "bytes":
            return base64.b64decode(tagged["b64"])
        case "list":
            return [decode(item) for item in value or ()]
        case "map":
            return {key_of(decode(key)): decode(item) for key, item in value or ()}
        case "type":
            return TypeValue(str(value))
        case "optional":
            return Optional(decode(value)) if value is not None else Optional()
        case "duration":
            return Duration(tagged["seconds"] * 10**9 + tagged["nanos"])
        case "timestamp":
            return Timestamp(tagged["seconds"], tagged["nanos"])
    raise ValueError(f"unknown tag {kind}")


def key_of(value: Any) -> Any:
    """The form that a map's key has in a dict."""
    return MapKey(value) if type(value) in (bool, float) else value


def same(found: Any, expected: Any) -> bool:
    """Equal and of the same types all the way down; a NaN is the same as a NaN."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, float):
        return found == expected or (math.isnan(found) and math.isnan(expected))
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(
            same(found[key], expected[key]) for key in found
        )
    return bool(found == expected)

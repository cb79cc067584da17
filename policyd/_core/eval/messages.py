"""Creates the Protocol Buffers messages that expressions may contain, directly as CEL values.

``google.protobuf.Int32Value{value: 5000000000}`` is an error: fields have Go types.
"""

import base64
import struct
from collections.abc import Mapping
from typing import Any

from policyd._core.eval.program import render, type_of
from policyd._core.values.errors import CelError
from policyd._core.values.types import Duration, Optional, StructValue, Timestamp, UInt

_PREFIX = "google.protobuf."
_SAFE = 2**53 - 1  # larger whole numbers are strings in JSON
_NANOS = 10**9
# Wrapper -> the Go type of its field, and the default value.
_WRAPPERS: Mapping[str, tuple[str, Any]] = {
    "BoolValue": ("bool", False),
    "BytesValue": ("[]uint8", b""),
    "DoubleValue": ("float64", 0.0),
    "FloatValue": ("float32", 0.0),
    "Int32Value": ("int32", 0),
    "Int64Value": ("int64", 0),
    "StringValue": ("string", ""),
    "UInt32Value": ("uint32", UInt(0)),
    "UInt64Value": ("uint64", UInt(0)),
}
_CEL_TYPES = {
    "bool": bool, "[]uint8": bytes, "float64": float, "float32": float, "int32": int, "int64": int,
    "string": str, "uint32": UInt, "uint64": UInt,
}  # fmt: skip
_MEMBERS = {"number_value": "float64", "string_value": "string", "bool_value": "bool"}


class _Wrong(Exception):
    """The value of a field has the wrong type or is out of range."""


def make(name: str, fields: dict[str, Any]) -> Any:
    """The message with this name, or a CelError."""
    short = name.removeprefix(_PREFIX)
    try:
        if short in _WRAPPERS:
            native, empty = _WRAPPERS[short]
            return _field(name, "value", fields, native, empty)
        if short in ("Timestamp", "Duration"):
            return _time(name, fields)
    except _Wrong as wrong:
        return CelError(str(wrong))
    match short:
        case "Empty":
            return StructValue(name, {})
        case "Struct":
            return _container(name, "fields", fields, {})
        case "ListValue":
            return _container(name, "values", fields, [])
        case "Value":
            return _value(name, fields)
        case "Any":
            return CelError("unsupported conversion to ref.Val: (*dynamicpb.Message)")
    return CelError(f"unknown type '{name}'")


def _field(name: str, field: str, fields: dict[str, Any], native: str, empty: Any) -> Any:
    """The value of a field, converted to the Go type."""
    if field not in fields:
        return empty
    value = fields[field]
    while isinstance(value, Optional):
        value = value.value if value else None
    problem = _mismatch(value, native)
    if problem:
        raise _Wrong(f"field type conversion error for {name}.{field} value type: {problem}")
    if native == "float32":
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def _mismatch(value: Any, native: str) -> str:
    """Why a value does not fit a Go type; "" if it does."""
    if type(value) is _CEL_TYPES[native]:
        return _overflow(value, native)
    if isinstance(value, str):
        return f"unsupported native conversion from string to '{native}'"
    if isinstance(value, float):
        return f"type conversion error from Double to '{native}'"
    if value is None:
        return f"type conversion error from 'null_type' to '{native}'"
    if isinstance(value, list | dict):
        return f"type conversion error from {type_of(value)} to '{native}'"
    return f"unsupported type conversion from '{type_of(value)}' to {native}"


def _overflow(value: Any, native: str) -> str:
    if native == "int32" and not -(2**31) <= value < 2**31:
        return "integer overflow"
    return "unsigned integer overflow" if native == "uint32" and value.value >= 2**32 else ""


def _time(name: str, fields: dict[str, Any]) -> Any:
    seconds = _field(name, "seconds", fields, "int64", 0)
    nanos = _field(name, "nanos", fields, "int32", 0)
    if name.endswith("Duration"):
        whole = seconds * _NANOS + nanos
        return Duration(max(-(2**63), min(whole, 2**63 - 1)))
    return Timestamp(seconds + nanos // _NANOS, nanos % _NANOS)


def _container(name: str, field: str, fields: dict[str, Any], empty: Any) -> Any:
    value = fields.get(field, empty)
    if type(value) is not type(empty):
        return CelError(f"unsupported field type for {name}.{field}: {type_of(value)}")
    return json_value(value)


def _value(name: str, fields: dict[str, Any]) -> Any:
    """The value of the field that is set; of the last one if several are."""
    made = None
    for field, value in fields.items():
        if field in _MEMBERS:
            try:
                made = _field(name, field, fields, _MEMBERS[field], None)
            except _Wrong as wrong:
                return CelError(str(wrong))
        else:
            made = None if field == "null_value" else json_value(value)
    return made


def json_value(value: Any) -> Any:
    """A value as JSON: all numbers are doubles. Without recursion: it may have 1,000 levels."""
    root = [value]
    rest: list[Any] = [root]
    while rest:
        node = rest.pop()
        for place, item in [*(node.items() if isinstance(node, dict) else enumerate(node))]:
            if isinstance(item, list):
                node[place] = item.copy()
            elif isinstance(item, dict):
                node[place] = {
                    key if isinstance(key, str) else render(key): member
                    for key, member in item.items()
                }
            else:
                node[place] = _scalar(item)
                continue
            rest.append(node[place])
    return root[0]


def _scalar(value: Any) -> Any:
    if isinstance(value, UInt):
        value = value.value
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return float(value) if -_SAFE <= value <= _SAFE else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return render(value) if isinstance(value, Timestamp | Duration) else value

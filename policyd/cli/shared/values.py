"""CEL values as JSON, and on one line of limited width. Evaluates nothing."""

import base64
import json
import math
from typing import Any

from policyd._core.eval.program import render, type_of
from policyd._core.values.errors import CelError
from policyd._core.values.types import MapKey, Optional, StructValue, UInt
from policyd.cli.shared.output import counted, one_line

# The types that CEL's string() converts; other keys are shown as their type.
_KEYS = frozenset((
    "bool", "int", "uint", "double", "null_type", "type", "net.IP", "net.CIDR",
    "google.protobuf.Timestamp", "google.protobuf.Duration",
))  # fmt: skip


def to_json(value: Any) -> Any:
    """Convert a CEL value to JSON; values that JSON lacks are converted by CEL's ``string()``."""
    if isinstance(value, float):
        return value if math.isfinite(value) else render(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): to_json(item) for key, item in value.items()}
    if isinstance(value, StructValue):
        return {name: to_json(item) for name, item in value.fields.items()}
    if isinstance(value, UInt):
        return value.value
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, Optional):
        return {"optional": to_json(value.value)} if value else "optional.none()"
    return render(value)


def _key(key: Any) -> str:
    """Convert a map key to a JSON string."""
    value = key.value if isinstance(key, MapKey) else key
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return render(value) if type_of(value) in _KEYS else type_of(value)


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def shown(value: Any, width: int) -> str:
    """Return a value on one line, truncated to ``width`` characters."""
    if isinstance(value, CelError):
        return cut(f"error: {value.message}", max(width, 60))
    if isinstance(value, Optional):
        return f"optional({shown(value.value, width - 10)})" if value else "optional.none()"
    text = json.dumps(to_json(_shallow(value, 0)), ensure_ascii=False, default=str)
    if len(text) <= width:
        return text
    count = f" ({counted(len(value), 'item')})" if isinstance(value, list) else ""
    return cut(text, width - len(count)) + count


def cut(text: str, width: int) -> str:
    """Put a string on one line and truncate it with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"


_DEEP = 6
_MANY = 30


def _shallow(value: Any, depth: int) -> Any:
    """Copy the part of a value that can fit on a line, so that large values stay cheap."""
    if isinstance(value, list):
        return "…" if depth > _DEEP else [_shallow(item, depth + 1) for item in value[:_MANY]]
    if isinstance(value, dict):
        if depth > _DEEP:
            return "…"
        some = list(value.items())[:_MANY]
        return {key: _shallow(item, depth + 1) for key, item in some}
    if isinstance(value, str):
        return value[:1000]
    return value

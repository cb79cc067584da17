"""Encode JSON of any depth that policyd reads. Decodes nothing."""

import json
from typing import Any

import orjson

from policyd.cel.syntax.recursion import deep_recursion


def json_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """Return a JSON value as bytes; ``indent``: 2, or None for one line. Raises TypeError and
    ValueError for what JSON cannot hold.

    >>> json_bytes({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except orjson.JSONEncodeError:  # deeper than its 254 levels, or half of a surrogate pair
        separators = (",", ": " if indent else ":")
        with deep_recursion():
            text = json.dumps(value, allow_nan=False, indent=indent, separators=separators)
        return text.encode()

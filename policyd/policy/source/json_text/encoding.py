"""Encode JSON of any depth that policyd reads. Decodes nothing."""

import json
from typing import Any

import orjson

from policyd._core.json.sizes import is_deeper
from policyd.cel.syntax.recursion import deep_recursion

_LEVELS = 254  # of orjson


def json_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """Return a JSON value as bytes; ``indent``: 2, or None for one line. Raises TypeError and
    ValueError for what JSON cannot hold.

    >>> json_bytes({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except orjson.JSONEncodeError:
        if not is_deeper(value, _LEVELS):
            raise
        encoder = json.JSONEncoder(
            ensure_ascii=False,
            allow_nan=False,
            indent=indent,
            separators=(",", ": " if indent else ":"),
        )
        with deep_recursion():
            return encoder.encode(value).encode()

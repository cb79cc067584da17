"""Literals: JSON values as CEL. An aggregate of several types is one of ``dyn`` values, because
Kubernetes refuses literals that mix types.
"""

import json
from collections.abc import Callable

from policyd.json_types import JSON

_INT64 = 2**63


def string_literal(text: str) -> str:
    """Return a string as CEL, in single quotes where it needs no escapes.

    >>> string_literal("it's")
    '"it\\'s"'
    """
    plain = json.dumps(text, ensure_ascii=False)
    # U+007F to U+00A0 and surrogates are legal in CEL, but not in every tool that shows it.
    if not all(character.isprintable() for character in text):
        plain = "".join(map(_escaped, plain))
    return plain if "'" in plain or '\\"' in plain else f"'{plain[1:-1]}'"


def literal(value: JSON, quote: Callable[[str], str] = string_literal) -> str:
    """Return a JSON value as CEL: ``{"a": [1]}`` is ``{'a': [1]}``."""
    return _literal(value, quote)[0]


def dyn(value: JSON) -> str:
    """Return a JSON value as CEL of the type ``dyn``, which a field of an object has."""
    return f"dyn({literal(value)})"


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _literal(value: JSON, quote: Callable[[str], str]) -> tuple[str, str]:
    """Return the CEL of a value and the name of its type."""
    match value:
        case None:
            return "null", "null_type"
        case bool():
            return str(value).lower(), "bool"
        case int() if -_INT64 <= value < _INT64:
            return str(value), "int"
        case int() | float():
            return _double(float(value)), "double"
        case str():
            return quote(value), "string"
        case list():
            items, kind = _alike([_literal(item, quote) for item in value])
            return f"[{', '.join(items)}]", f"list({kind})"
        case dict():
            items, kind = _alike([_literal(item, quote) for item in value.values()])
            keys = map(quote, value)
            entries = (f"{key}: {item}" for key, item in zip(keys, items, strict=True))
            return f"{{{', '.join(entries)}}}", f"map({kind})"
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def _double(value: float) -> str:
    """Return a number that CEL reads as a double: ``1.0``, ``1.0e+30``."""
    text = repr(value)
    if "." not in text and "e" in text:
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa}.0e{exponent}"
    return text


def _alike(items: list[tuple[str, str]]) -> tuple[list[str], str]:
    """Return the items of an aggregate, all of one type, and that type."""
    kinds = {kind for _, kind in items}
    if len(kinds) <= 1:
        return [text for text, _ in items], next(iter(kinds), "dyn")
    return [f"dyn({text})" for text, _ in items], "dyn"

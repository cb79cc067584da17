"""Parse literal tokens: numbers in the range of their type, strings with their escapes resolved.

Errors are ``ValueError`` with cel-go's messages (parser/unescape.go).
"""

import re
from collections.abc import Callable

from policyd._core.values.types import UInt

_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_HEX_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}
_PIECE = re.compile(r"\\(?:[xX]..|u.{4}|U.{8}|[0-3]..|.)|[^\\]+", re.DOTALL)
_TRIPLE = ('"""', "'''")
_MAX_CODE_POINT = 0x10FFFF


def parse_literal(kind: str, text: str) -> object:
    """Return the value of a literal token, including its sign."""
    return _PARSERS[kind](text)


def parse_int(text: str) -> int:
    """Parse a signed decimal or hexadecimal literal within int64."""
    if len(text) < 19 and text.isdecimal():
        return int(text)
    value = _number(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError("invalid int literal")
    return value


def parse_uint(text: str) -> UInt:
    """Parse a literal with its ``u`` suffix, within uint64."""
    value = _number(text[:-1])
    if value >= 2**64:
        raise ValueError("invalid uint literal")
    return UInt(value)


def parse_double(text: str) -> float:
    """Parse a double literal; overflow is an error, as in Go's ParseFloat."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return value


def parse_string(token: str) -> str:
    """Return the value of a STRING token with its quotes."""
    plain = token[0] in "\"'" and token[:3] not in _TRIPLE
    if plain and "\\" not in token and "\r" not in token:
        return token[1:-1]
    body, raw = _strip(token)
    if raw or "\\" not in body:
        return body
    return "".join(_character(piece) for piece in _PIECE.findall(body))


def parse_bytes(token: str) -> bytes:
    """Parse a BYTES token: characters as UTF-8, ``\\x`` and octal escapes as bytes."""
    body, raw = _strip(token[1:])
    if raw or "\\" not in body:
        return body.encode()
    return b"".join(_octets(piece) for piece in _PIECE.findall(body))


def _number(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.removeprefix("-")
    # Python refuses to convert thousands of digits, which are out of range anyway.
    if len(digits.lstrip("0")) > 64:
        return 2**64 * sign
    return sign * (int(digits[2:], 16) if digits.startswith("0x") else int(digits))


def _strip(token: str) -> tuple[str, bool]:
    """Return the content of the quotes, and whether it is raw. Line ends become ``\\n``."""
    text = token.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in _TRIPLE else 1
    return text[quotes:-quotes], raw


def _code(piece: str) -> int:
    """Return the number in a ``\\x``, ``\\u``, ``\\U`` or octal escape."""
    if piece[1] in _HEX_DIGITS:
        return int(piece[2:], 16)
    return int(piece[1:], 8)


def _character(piece: str) -> str:
    if piece[0] != "\\":
        return piece
    if piece[1] in _SIMPLE:
        return _SIMPLE[piece[1]]
    code = _code(piece)
    if code > _MAX_CODE_POINT or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _octets(piece: str) -> bytes:
    if piece[0] != "\\":
        return piece.encode()
    if piece[1] in _SIMPLE:
        return _SIMPLE[piece[1]].encode()
    if piece[1] in "uU":
        raise ValueError("unable to unescape string")
    return bytes((_code(piece),))


_PARSERS: dict[str, Callable[[str], object]] = {
    "NUM_INT": parse_int,
    "NUM_UINT": parse_uint,
    "NUM_FLOAT": parse_double,
    "STRING": parse_string,
    "BYTES": parse_bytes,
    "true": lambda _: True,
    "false": lambda _: False,
    "null": lambda _: None,
}

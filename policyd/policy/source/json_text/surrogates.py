"""Halves of surrogate pairs, which JSON can escape and no other encoding can hold."""

import re

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)
_SURROGATES = range(0xD800, 0xE000)


def lone_surrogate(text: str) -> int | None:
    """Return the offset of an escaped half of a pair in a JSON text; None if there is none.

    Only strings hold backslashes, so the text need not be read as JSON.
    """
    high = None  # a first half without its second half so far
    for match in _ESCAPE.finditer(text):
        point = _point(match)
        if high is not None and (point not in _LOW or match.start() != high.end()):
            return int(high.start())
        if point in _LOW and high is None:
            return match.start()
        high = match if point in _HIGH else None
    return None if high is None else int(high.start())


def without_surrogates(text: str) -> str:
    """Return a JSON text of the same length in which blanks are escaped in place of surrogates:
    YAML, which lacks these escapes, has everything at the same places.
    """
    return _ESCAPE.sub(lambda m: "\\u0020" if _point(m) in _SURROGATES else m[0], text)


def _point(escape: re.Match[str]) -> int:
    return int(escape[1][1:], 16) if escape[1][0] == "u" and len(escape[1]) > 1 else -1

"""The marks on the keys of a pattern or an overlay: ``(key)``, ``=(key)``, ``^(key)`` and the rest.

Reads keys only; patterns and overlays define what a mark means for a value.
"""

import re
from enum import Enum


class Mark(Enum):
    """The characters before the bracket of a key; NONE for a plain key."""

    NONE = "plain"
    CONDITION = ""  # (key)   the rest applies only if this holds
    GLOBAL = "<"  # <(key)  the whole tree applies only if this holds
    IF_PRESENT = "="  # =(key)  checked if the key is present
    EXISTS = "^"  # ^(key)  at least one item of the list
    ABSENT = "X"  # X(key)  must be absent
    ADD = "+"  # +(key)  added if absent; overlays only


_MARKED = re.compile(r"(?P<mark>[^\w\s()]*+|[A-Za-z])\((?P<name>.*)\)", re.DOTALL)
# An unclosed or unopened bracket, and blanks around a mark.
_BROKEN = re.compile(
    r"\s*+[^\w\s()]*+\s*+\(.*|\s*+[A-Za-z]\s*+\([^)]*|\s*+[A-Za-z]\s++\(.*\)|[^()]*\)\s*", re.DOTALL
)
_SIGNS = ("<", "=", "^", "+")  # no field name begins with these
_MARKS = {mark.value: mark for mark in Mark if mark is not Mark.NONE}
KNOWN = "(key), =(key), ^(key), X(key), <(key), +(key)"


class UnknownMark(ValueError):
    """The key looks marked, but the mark is unknown or its brackets are empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def split(key: str) -> tuple[Mark, str]:
    """Return the mark of a key and its name: ``^(containers)``: ``(Mark.EXISTS, "containers")``.

    Raises UnknownMark if the key only looks marked.
    """
    found = _MARKED.fullmatch(key)
    if found is None:
        if _BROKEN.fullmatch(key):
            raise UnknownMark(
                f"{key!r} is not a mark with a key in brackets: the marks are {KNOWN}"
            )
        if key[:1] in _SIGNS and key[1:].strip():
            raise UnknownMark(f"{key!r} has no brackets", f"write {key[0]}({key[1:].strip()})")
        return Mark.NONE, key
    sign, name = found["mark"], found["name"]
    mark = _MARKS.get(sign)
    if mark is None:
        raise UnknownMark(f"there is no mark {sign}(): the marks are {KNOWN}")
    if not name.strip():
        raise UnknownMark("there is no key inside the brackets of the mark")
    return mark, name


def split_if_known(key: str) -> tuple[Mark | None, str]:
    """Like ``split``; None and the whole key if it only looks marked, which is a policy error."""
    try:
        return split(key)
    except UnknownMark:
        return None, key


def marked(mark: Mark, name: str) -> str:
    """Build the key from mark and name: the inverse of ``split``."""
    return name if mark is Mark.NONE else f"{mark.value}({name})"

"""The marks on the keys of a pattern or an overlay: ``(key)``, ``=(key)``, ``^(key)`` and the rest.

Reads keys only; what a mark means for a value is said where patterns and overlays are compiled.
"""

import re
from enum import Enum


class Mark(Enum):
    """What stands before the bracket of a key, and NONE for a plain key."""

    NONE = "plain"
    CONDITION = ""  # (key)   the rest counts only where this holds
    GLOBAL = "<"  # <(key)  the whole tree counts only where this holds
    IF_PRESENT = "="  # =(key)  checked where the key is there
    EXISTS = "^"  # ^(key)  at least one item of the list
    ABSENT = "X"  # X(key)  must not be there
    ADD = "+"  # +(key)  added where absent; overlays only


_MARKED = re.compile(r"(?P<mark>[^\w\s()]|[A-Za-z])?\((?P<name>.*)\)", re.DOTALL)
_MARKS = {mark.value: mark for mark in Mark if mark is not Mark.NONE}
KNOWN = "(key), =(key), ^(key), X(key), <(key), +(key)"


class UnknownMark(ValueError):
    """The key looks marked, but there is no such mark, or nothing in its brackets."""


def split(key: str) -> tuple[Mark, str]:
    """The mark of a key and its name: ``^(containers)`` is ``(Mark.EXISTS, "containers")``.

    Raises UnknownMark for what looks like a mark and is none.
    """
    found = _MARKED.fullmatch(key)
    if found is None:
        return Mark.NONE, key
    sign, name = found["mark"] or "", found["name"]
    mark = _MARKS.get(sign)
    if mark is None:
        raise UnknownMark(f"there is no mark {sign}(): the marks are {KNOWN}")
    if not name.strip():
        raise UnknownMark("there is no key inside the brackets of the mark")
    return mark, name


def marked(mark: Mark, name: str) -> str:
    """The key again: the inverse of ``split``."""
    return name if mark is Mark.NONE else f"{mark.value}({name})"

"""Formats a line of a source with a caret below a place. A long line is cut around the place.

Columns count code points; the caret's position counts terminal columns. ``cel/syntax/source.py``
formats the excerpts in errors of Kubernetes.
"""

from unicodedata import category, east_asian_width

MOST = 120  # columns of a line that is shown whole
_BEFORE = 50  # columns of a longer line that are kept before and after the place
_AFTER = 50
_CUT = "…"
# Characters examined in each direction: more would have to be mostly combining marks.
_LOOKED_AT = 10 * MOST


def marked(line: str, column: int, *, margin: str, fill: str) -> str:
    """Return the line and, below it, a caret under ``column`` (from 1), both after ``margin``.

    ``fill`` is repeated up to the caret. Tabs and control characters are shown as blanks. The time
    does not depend on the length of the line.
    """
    at = max(column, 1) - 1
    before = after = ""
    if len(line) > _LOOKED_AT or columns(line) > MOST:
        start, end = _window(line, at)
        before = _CUT if start else ""
        after = _CUT if end < len(line) else ""
        at += len(before) - start
        line = line[start:end]
    shown = "".join(" " if category(each) == "Cc" else each for each in line)
    shown = f"{before}{shown}{after}"
    return f"{margin}{shown}\n{margin}{fill * columns(shown[:at])}^"


def columns(text: str) -> int:
    """Return the number of columns of a text in a terminal."""
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _window(text: str, at: int) -> tuple[int, int]:
    """Return the part of a text to show around an offset; marks stay with their letters."""
    start, room = min(at, len(text)), _BEFORE
    first, last = max(0, start - _LOOKED_AT), min(start + _LOOKED_AT, len(text))
    while start > first and (room := room - _columns(text[start - 1])) >= 0:
        start -= 1
    while start > first and _columns(text[start]) == 0:
        start -= 1
    end, room = at, _AFTER
    while end < last and (room := room - _columns(text[end])) >= 0:
        end += 1
    while end < last and _columns(text[end]) == 0:
        end += 1
    return start, end

"""Where the characters of a scalar are in its YAML text: behind escapes, folds and properties."""

from collections.abc import Iterator, Sequence

import yaml

_DIGITS = {"x": 2, "u": 4, "U": 8}
_BLANK_ESCAPES = "tnvfr N_LP\t"  # what follows a backslash in double quotes for a blank


def character_place(
    rows: Sequence[str], node: yaml.ScalarNode, first: tuple[int, int], wanted: int
) -> tuple[int, int]:
    """Return row and column, from 0, of a character of a scalar that begins at ``first``.

    ``wanted`` counts the characters before it that are not blank. Beyond the last one: the place
    after it.
    """
    after = first
    for row, start, end in _characters(rows, node, first):
        if wanted == 0:
            return row, start
        wanted -= 1
        after = row, end
    return after


def _characters(
    rows: Sequence[str], node: yaml.ScalarNode, first: tuple[int, int]
) -> Iterator[tuple[int, int, int]]:
    """Yield row, column and end of each character of the value that is not blank."""
    row, at = first
    last_row, last_at = node.end_mark.line, node.end_mark.column
    if node.style in ("'", '"'):
        last_at -= 1
    while row < len(rows) and row <= last_row:
        text = rows[row] if row < last_row else rows[row][:last_at]
        while at < len(text):
            end, blank = _one(text, at, node.style)
            if not blank:
                yield row, at, end
            at = end
        row, at = row + 1, 0


def _one(text: str, at: int, style: str | None) -> tuple[int, bool]:
    """Return the end of the character at an offset, and whether it is a blank of the value."""
    if style == "'" and text.startswith("''", at):
        return at + 2, False
    if style != '"' or text[at] != "\\":
        return at + 1, text[at].isspace()
    name = text[at + 1 : at + 2]
    if name in _DIGITS:
        end = at + 2 + _DIGITS[name]
        return end, chr(int(text[at + 2 : end], 16)).isspace()
    return at + 2, name == "" or name in _BLANK_ESCAPES


def after_properties(line: str, column: int) -> int:
    """Return the column after the anchor and tag of a scalar, if it has any."""
    at = column
    while line[at : at + 1] in ("&", "!"):
        while at < len(line) and not line[at].isspace():
            at += 1
        while at < len(line) and line[at].isspace():
            at += 1
    return at if at < len(line) else column

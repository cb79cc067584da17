"""Wraps the text that people read to the width of their terminal. Output to a pipe or a file is
not wrapped: grep finds whole lines. Decides no colors.
"""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

import click

from policyd.source_excerpt import columns

HANG = 4  # how much further the continuation of a line is indented
_LEAST = 30  # columns that are enough for the last cell of a row
_BELOW = 10  # the indent of that cell if it is below its row
_CARET = re.compile(r"[ |.]*\^")
_QUOTED = re.compile(r" *\| ")


def terminal_width(*, err: bool = False) -> int | None:
    """Return the columns of the terminal, or COLUMNS; None if the output is not a terminal."""
    stream = sys.stderr if err else sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or not stream.isatty():
        return None
    found = shutil.get_terminal_size().columns
    if err and not os.environ.get("COLUMNS"):
        # Standard output may be a pipe, whose width is unknown.
        found = os.get_terminal_size(stream.fileno()).columns or found
    return found


def echo_wrapped(text: str, *, err: bool = False) -> None:
    """Print a text; each line is wrapped if the output is a terminal."""
    click.echo(wrapped(text, terminal_width(err=err)), err=err)


def wrapped(text: str, width: int | None) -> str:
    """Wrap each line of a text, except the excerpts of sources with their carets."""
    if width is None:
        return text
    lines = text.split("\n")
    plain = [*map(click.unstyle, lines), ""]
    return "\n".join(
        # A caret is below what it marks.
        line
        if any(map(_CARET.fullmatch, pair)) or _QUOTED.match(pair[0])
        else wrapped_line(line, width)
        for line, pair in zip(lines, pairwise(plain), strict=True)
    )


def wrapped_line(line: str, width: int, indent: int | None = None) -> str:
    """Wrap one line at blanks. Continuations have ``indent`` (None: the line's, and HANG).

    Each break replaces one blank. A word that does not fit, such as a path, stays whole.
    """
    if _columns(line) <= width:
        return line
    plain = click.unstyle(line)
    own = len(plain) - len(plain.lstrip(" "))
    indent = min(own + HANG if indent is None else indent, max(0, width - _LEAST))
    return f"\n{' ' * indent}".join(_rows(line, width, indent))


def table_row(cells: Sequence[str], last: str, width: int | None) -> str:
    """Return a row of a table whose last cell is wrapped below itself, or below the row if too
    little room is left beside it.
    """
    head = "".join(f"{cell}  " for cell in cells)
    if width is None:
        return f"{head}{last}".rstrip()
    indent = _columns(head)
    if width - indent < _LEAST:
        return f"{head.rstrip()}\n{wrapped_line(' ' * _BELOW + last, width, _BELOW)}".rstrip()
    return wrapped_line(f"{head}{last}", width, indent).rstrip()


def aligned(rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    """Yield the rows of a table that is not wrapped: the first ``words`` columns to the left,
    numbers to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (*map(str.ljust, row[:words], widths), *map(str.rjust, row[words:], widths[words:]))
        yield "  ".join(cells).rstrip()


def _rows(line: str, width: int, indent: int) -> Iterator[str]:
    """Yield the rows of a line, without their indents. The blanks at its start are kept."""
    words = line.split(" ")
    made, used, blank = words[0], _columns(words[0]), _is_blank(words[0])
    for word in words[1:]:
        size = _columns(word)
        if blank or used + 1 + size <= width:
            made, used, blank = f"{made} {word}", used + 1 + size, blank and _is_blank(word)
        else:
            yield made
            made, used, blank = word, indent + size, _is_blank(word)
    yield made


def _is_blank(word: str) -> bool:
    """Whether a word only changes the color. A mark without a letter has no columns but is seen."""
    return not click.unstyle(word)


def _columns(text: str) -> int:
    """Return the columns of a text; those that only change its color use none."""
    return columns(click.unstyle(text))

"""Apply the corrections of problems to the text of their file, by position. Reads and writes no
files.

A correction replaces one string. In YAML without quotes it gets quotes where it would be read as
something else; everything around it stays as it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from policyd.errors import Fix, Problem
from policyd.policy.source.splitting import read_values
from policyd.policy.source.yaml_nodes import is_plain_string

_QUOTES = frozenset("'\"\\")
_FURTHEST = 3  # characters before a string that is quoted in a quoted expression: ''always''


@dataclass(frozen=True, slots=True)
class Correction:
    """The replacement of ``old`` by ``new`` at an offset of a text, for a problem."""

    problem: Problem
    offset: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Corrected:
    """A text with its corrections, in the order of the text."""

    text: str
    edits: tuple[Correction, ...]


def corrected(name: str, text: str, problems: Iterable[Problem]) -> Corrected:
    """Apply the corrections of the problems of one file.

    A correction is omitted where the text does not contain what it replaces; all are omitted if the
    result would be no longer valid YAML.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    edits: dict[int, Correction] = {}
    for problem in problems:
        edit = _edit(problem, problem.fix, text, starts) if problem.fix is not None else None
        if edit is not None:
            edits.setdefault(edit.offset, edit)
    chosen = tuple(sorted(edits.values(), key=lambda edit: edit.offset))
    result = _applied(text, chosen)
    if len(read_values(name, result.encode())[1]) > len(read_values(name, text.encode())[1]):
        return Corrected(text, ())
    return Corrected(result, chosen)


def _edit(problem: Problem, fix: Fix, text: str, starts: list[int]) -> Correction | None:
    """Return the replacement for a correction; None if the text has something else there."""
    if not 0 < problem.line < len(starts):
        return None
    place = starts[problem.line - 1] + problem.column - 1
    for offset in range(place, place + _FURTHEST + 1):
        if text.startswith(fix.old, offset):
            before = text[offset - 1 : offset]
            after = text[offset + len(fix.old) : offset + len(fix.old) + 1]
            if after.isalnum() or after in ("-", "_"):
                return None  # only the start of a longer word
            plain = before not in _QUOTES and not is_plain_string(fix.new)
            return Correction(problem, offset, fix.old, f'"{fix.new}"' if plain else fix.new)
        if text[offset : offset + 1] not in _QUOTES:
            return None
    return None


def _applied(text: str, edits: Iterable[Correction]) -> str:
    pieces, end = [], 0
    for edit in edits:
        if edit.offset >= end:
            pieces += [text[end : edit.offset], edit.new]
            end = edit.offset + len(edit.old)
    return "".join([*pieces, text[end:]])

"""Apply the corrections of problems to the text of their file, by position. Reads and writes no
files.

A correction replaces one string. In YAML without quotes it gets quotes where it would be read as
something else.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from policyd.errors import Fix, Problem
from policyd.policy.source.yaml_edit.edits import CannotEdit
from policyd.policy.source.yaml_edit.strings import NewString, with_strings
from policyd.policy.source.yaml_nodes import is_plain_string

_QUOTES = frozenset("'\"\\")
_FURTHEST = 3  # characters before a string that is quoted in a quoted expression: ''always''


@dataclass(frozen=True, slots=True)
class Correction:
    """The replacement of a string of a text, for a problem."""

    problem: Problem
    string: NewString


@dataclass(frozen=True, slots=True)
class Corrected:
    """A text with its corrections, in the order of the text."""

    text: str
    edits: tuple[Correction, ...]


def corrected(name: str, text: str, problems: Iterable[Problem]) -> Corrected:
    """Apply the corrections of the problems of one file.

    A correction is omitted where the text does not contain what it replaces, or another one is
    made; all are omitted if they would change anything else.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    found = [
        Correction(problem, string)
        for problem in problems
        if problem.fix is not None
        and (string := _string(problem, problem.fix, text, starts)) is not None
    ]
    chosen: list[Correction] = []
    end = 0
    for each in sorted(found, key=lambda each: each.string.start):
        if each.string.start >= end:
            chosen.append(each)
            end = each.string.start + len(each.string.old)
    try:
        return Corrected(with_strings(name, text, [each.string for each in chosen]), tuple(chosen))
    except CannotEdit:
        return Corrected(text, ())


def _string(problem: Problem, fix: Fix, text: str, starts: list[int]) -> NewString | None:
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
            return NewString(offset, fix.old, fix.new, plain)
        if text[offset : offset + 1] not in _QUOTES:
            return None
    return None

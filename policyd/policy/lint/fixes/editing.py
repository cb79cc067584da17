"""Apply the corrections of problems to the text of their file, by position. Reads and writes no
files.

A correction replaces one string. In YAML without quotes it gets quotes where it would be read as
something else.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from policyd.errors import Fix, Problem
from policyd.policy.source.splitting import read_values
from policyd.policy.source.yaml_edit.edits import CannotEdit, applied
from policyd.policy.source.yaml_edit.strings import NewString, with_strings
from policyd.policy.source.yaml_nodes import is_plain_string

_QUOTES = frozenset("'\"\\")
_SYNTAX = "syntax"
_MOST = 50  # syntax errors of a document, each found by reading it again
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

    A correction is omitted where the text does not contain what it replaces, or another correction
    is made; all are omitted if they would change anything else.
    """
    found = _corrections(text, problems)
    # Corrections that make a file YAML come first: until then nothing else of it can be compared.
    if any(each.problem.rule == _SYNTAX for each in found):
        found = _all_of_syntax(name, text, found)
    chosen: list[Correction] = []
    end = 0
    for each in found:
        if each.string.start >= end:
            chosen.append(each)
            end = each.string.start + len(each.string.old)
    try:
        return Corrected(with_strings(name, text, [each.string for each in chosen]), tuple(chosen))
    except CannotEdit:
        return Corrected(text, ())


def _corrections(text: str, problems: Iterable[Problem]) -> list[Correction]:
    """Return the corrections of the problems in the order of the text."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    found = [
        Correction(problem, string)
        for problem in problems
        if problem.fix is not None
        and (string := _string(problem, problem.fix, text, starts)) is not None
    ]
    return sorted(found, key=lambda each: each.string.start)


def _all_of_syntax(name: str, text: str, found: list[Correction]) -> list[Correction]:
    """Return the corrections of syntax errors, also of those behind the first, where the parser
    stops. They keep the lines.
    """
    problems = [each.problem for each in found if each.problem.rule == _SYNTAX]
    for _ in range(_MOST):
        found = _corrections(text, problems)
        edits = [each.string.edit(each.string.new) for each in found]
        left = read_values(name, applied(text, edits).encode("utf-8", "surrogatepass"))[1]
        more = [each for each in left if each.fix is not None and each.rule == _SYNTAX]
        if not more:
            break
        problems += more
    return found


def _string(problem: Problem, fix: Fix, text: str, starts: list[int]) -> NewString | None:
    """Return the replacement for a correction; None if the text has something else there."""
    if not 0 < problem.line < len(starts):
        return None
    place = max(0, starts[problem.line - 1] + problem.column - 1 + fix.offset)
    for offset in range(place, place + _FURTHEST + 1):
        if text.startswith(fix.old, offset):
            before = text[offset - 1 : offset]
            after = text[offset + len(fix.old) : offset + len(fix.old) + 1]
            if after.isalnum() or after in ("-", "_"):
                return None  # only the start of a longer word
            needed = fix.old == fix.new or not is_plain_string(fix.new)
            return NewString(offset, fix.old, fix.new, before not in _QUOTES and needed)
        if text[offset : offset + 1] not in _QUOTES:
            return None
    return None

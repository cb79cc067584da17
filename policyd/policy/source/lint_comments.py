"""Comments that disable advice: ``# policyd-lint: disable=RULE,RULE reason``. Checks no policy.

A comment above the first line of a file applies to the whole file, one above the first line of a
document to that document, any other to the field or item on its line or the next one, with
everything inside it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import yaml

from policyd.errors import Problem
from policyd.policy.source.background_pace import full_speed
from policyd.policy.source.budget import MAX_DEPTH, SLICE
from policyd.policy.source.yaml_text.marks import counter

MARK = b"policyd-lint"
_WORD = MARK.decode()
_COMMENT = re.compile(r"(?:^|(?<=\s))#\s*policyd-lint\b:?\s*(.*)")
_DISABLE = re.compile(r"disable\s*=\s*([\w-]+(?:\s*,\s*[\w-]+)*)")
_SEPARATOR = re.compile(r"---(\s|$)")
_END = 1 << 62
_Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LintComment:
    """One comment, which applies to the lines ``first`` to ``last``. ``rules`` is empty if the
    comment is malformed.
    """

    file: str
    line: int
    column: int
    rules: tuple[str, ...]
    first: int
    last: int

    def covers(self, problem: Problem) -> bool:
        """Whether the comment disables the problem."""
        return (
            problem.severity == "advice"
            and problem.rule in self.rules
            and problem.file == self.file
            and self.first <= max(problem.line, 1) <= self.last
        )

    def fault(self, message: str, hint: str) -> Problem:
        """Return a problem of the comment itself."""
        place = (self.file, self.line, self.column)
        return Problem(message, *place, hint=hint, rule="lint-comment")

    def unused(self) -> Problem:
        """Return the problem that the comment disables nothing."""
        message = f"the comment disables nothing: there is no {' or '.join(self.rules)} here"
        fault = self.fault(message, "remove the comment")
        return replace(fault, rule="unused-disable", severity="advice")


def comments_in(
    file: str, data: bytes, breathe: Callable[[], None] = full_speed
) -> list[LintComment]:
    """Return the comments of a file, which need not be valid YAML. ``breathe`` is called between
    small pieces of work.
    """
    text = data.decode("utf-8-sig", "replace")
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    scalars = _scalars(text, breathe)
    scopes = _Scopes(lines)
    found: list[tuple[LintComment, int]] = []  # with the field that it applies to, or -1
    for number, line in enumerate(lines):
        match = _COMMENT.search(line) if _WORD in line else None
        if match is None:
            continue
        place = (number, match.start())
        before = bisect_right(scalars, place, key=lambda span: span[0])  # they are disjoint
        if before and place < scalars[before - 1][1]:
            continue
        directive = _DISABLE.match(match[1])
        rules = tuple(rule.strip() for rule in directive[1].split(",")) if directive else ()
        scope = scopes.of(number, alone=not line[: match.start()].strip())
        comment = LintComment(file, number + 1, match.start() + 1, rules, scope.first, scope.last)
        found.append((comment, scope.field))
    ends = _ends_of_fields(lines, {field for _, field in found})
    return [
        comment if field < 0 else replace(comment, last=ends.get(field, len(lines)))
        for comment, field in found
    ]


def _scalars(text: str, breathe: Callable[[], None]) -> list[_Span]:
    """Return the spans of quoted and block scalars, in which ``#`` does not start a comment."""
    spans: list[_Span] = []
    place = counter(text)
    try:
        for number, token in enumerate(_tokens(text)):
            if isinstance(token, yaml.ScalarToken) and not token.plain:
                line, column = place(token.start_mark)
                if token.style in ("|", ">"):  # a comment may follow the block indicator
                    line, column = line + 1, 0
                spans.append(((line, column), place(token.end_mark)))
            if number % SLICE == 0:
                breathe()
    except yaml.YAMLError:
        pass  # reported as a syntax error; the spans so far are good enough
    return spans


def _tokens(text: str) -> Iterator[yaml.Token]:
    """Yield the tokens up to the first one that is nested too deep to be read: for each token the
    scanner looks at every bracket that is open.
    """
    levels = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
            levels += 1
            if levels > MAX_DEPTH:
                return
        elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken):
            levels -= 1
        yield token


class _Scope(NamedTuple):
    """The lines (from 1) that a comment applies to. ``field``: the line (from 0) of the field or
    item with whose end it ends, instead of ``last``; -1 without one.
    """

    first: int
    last: int
    field: int = -1


class _Scopes:
    """Finds the lines that comments of a file apply to. Queried in the order of the comments, so
    that each line is scanned only once.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._above = ""  # the last line with content before _next
        self._next = 0
        self._field = -1  # the next line with content
        self._separator = -1

    def of(self, number: int, *, alone: bool) -> _Scope:
        """Return what a comment on line ``number`` (from 0) applies to."""
        if not alone:
            return _Scope(number + 1, 0, number)
        for each in range(self._next, number):
            if _says(self._lines[each]):
                self._above = self._lines[each]
        self._next = max(self._next, number)
        if not self._above:
            return _Scope(1, _END)
        if _SEPARATOR.match(self._above):
            if self._separator < number:
                found = (each for each in self._from(number) if _SEPARATOR.match(self._lines[each]))
                self._separator = next(found, _END)
            return _Scope(number + 1, self._separator)
        if self._field < number:
            found = (each for each in self._from(number) if _says(self._lines[each]))
            self._field = next(found, number)
        return _Scope(self._field + 1, 0, self._field)

    def _from(self, number: int) -> range:
        return range(number, len(self._lines))


def _says(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith(("#", "%"))


def _ends_of_fields(lines: list[str], fields: set[int]) -> dict[int, int]:
    """Return the last line (from 1) of each field or item that begins on one of these lines (from
    0), by that line; those that end with the file are left out.
    """
    ends: dict[int, int] = {}
    open_: list[tuple[int, int, bool]] = []  # line, depth, whether an item; each in the one before
    for number, line in enumerate(lines):
        if number not in fields and (not open_ or not _says(line)):
            continue
        depth, item = len(line) - len(line.lstrip(" ")), line.lstrip().startswith("- ")
        while open_ and _says(line) and _ends(*open_[-1][1:], depth, item=item):
            ends[open_.pop()[0]] = number
        if number in fields:
            open_.append((number, depth, item))
    return ends


def _ends(depth: int, is_item: bool, at: int, *, item: bool) -> bool:
    """Whether a line at a column ends a field or item. A list may be at the column of its field."""
    return at < depth or (at == depth and (is_item or not item))

"""Comments that disable advice: ``# policyd-lint: disable=RULE,RULE reason``. Checks no policy.

A comment above the first line of a file applies to the whole file, one above the first line of a
document to that document, any other to the field or item on its line or the next one, with
everything inside it.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

import yaml

from policyd.errors import Problem
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
        return Problem(
            message,
            file=self.file,
            line=self.line,
            column=self.column,
            hint=hint,
            rule="lint-comment",
        )

    def unused(self) -> Problem:
        """Return the problem that the comment disables nothing."""
        return Problem(
            f"the comment disables nothing: there is no {' or '.join(self.rules)} here",
            file=self.file,
            line=self.line,
            column=self.column,
            hint="remove the comment",
            rule="unused-disable",
            severity="advice",
        )


def comments_in(file: str, data: bytes) -> list[LintComment]:
    """Return the comments of a file, which need not be valid YAML."""
    text = data.decode("utf-8-sig", "replace")
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    scalars = _scalars(text)
    scopes = _Scopes(lines)
    found = []
    for number, line in enumerate(lines):
        match = _COMMENT.search(line) if _WORD in line else None
        if match is None or _is_within((number, match.start()), scalars):
            continue
        directive = _DISABLE.match(match[1])
        rules = tuple(rule.strip() for rule in directive[1].split(",")) if directive else ()
        first, last = scopes.of(number, alone=not line[: match.start()].strip())
        found.append(LintComment(file, number + 1, match.start() + 1, rules, first, last))
    return found


def _scalars(text: str) -> list[_Span]:
    """Return the spans of quoted and block scalars, in which ``#`` does not start a comment."""
    spans: list[_Span] = []
    place = counter(text)
    try:
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            if isinstance(token, yaml.ScalarToken) and not token.plain:
                line, column = place(token.start_mark)
                if token.style in ("|", ">"):  # a comment may follow the block indicator
                    line, column = line + 1, 0
                spans.append(((line, column), place(token.end_mark)))
    except yaml.YAMLError:
        pass  # reported as a syntax error; the spans so far are good enough
    return spans


def _is_within(place: tuple[int, int], spans: list[_Span]) -> bool:
    """Whether a place is in one of the spans, which are sorted and disjoint."""
    index = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return index >= 0 and place < spans[index][1]


class _Scopes:
    """Finds the lines (from 1) that comments of a file apply to. Queried in the order of the
    comments, so that each line is scanned only once.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._above = ""  # the last line with content before _next
        self._next = 0
        self._field = -1  # the next line with content
        self._separator = -1
        self._ends: dict[int, int] = {}

    def of(self, number: int, *, alone: bool) -> tuple[int, int]:
        """Return the first and last line that a comment on line ``number`` (from 0) applies to."""
        if not alone:
            return number + 1, self._end_of_field(number)
        for each in range(self._next, number):
            if _says(self._lines[each]):
                self._above = self._lines[each]
        self._next = max(self._next, number)
        if not self._above:
            return 1, _END
        if _SEPARATOR.match(self._above):
            if self._separator < number:
                found = (each for each in self._from(number) if _SEPARATOR.match(self._lines[each]))
                self._separator = next(found, _END)
            return number + 1, self._separator
        if self._field < number:
            found = (each for each in self._from(number) if _says(self._lines[each]))
            self._field = next(found, number)
        return self._field + 1, self._end_of_field(self._field)

    def _from(self, number: int) -> range:
        return range(number, len(self._lines))

    def _end_of_field(self, number: int) -> int:
        if number not in self._ends:
            self._ends[number] = _end_of_field(self._lines, number)
        return self._ends[number]


def _says(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith(("#", "%"))


def _end_of_field(lines: list[str], number: int) -> int:
    """Return the last line (from 1) of the field or item that begins on ``number`` (from 0)."""
    depth = _indent(lines[number])
    item = lines[number].lstrip().startswith("- ")
    for following in range(number + 1, len(lines)):
        line = lines[following]
        if not _says(line) or _indent(line) > depth:
            continue
        if item or _indent(line) < depth or not line.lstrip().startswith("- "):
            return following
    return len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))

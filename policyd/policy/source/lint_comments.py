"""Comments that disable advice: ``# policyd-lint: disable=RULE,RULE reason``. Judges no policy.

A comment above the first line of a file is about the whole file, one above the first line of a
document about that document, any other about the field or item on its line, or on the next one,
with all that is inside of it.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

import yaml

from policyd.errors import Problem

MARK = b"policyd-lint"
_WORD = MARK.decode()
_COMMENT = re.compile(r"(?:^|(?<=\s))#\s*policyd-lint\b:?\s*(.*)")
_DISABLE = re.compile(r"disable\s*=\s*([\w-]+(?:\s*,\s*[\w-]+)*)")
_SEPARATOR = re.compile(r"---(\s|$)")
_END = 1 << 62
_Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LintComment:
    """One comment; ``first`` and ``last`` are the lines it is about. ``rules`` is empty if it
    cannot be read.
    """

    file: str
    line: int
    column: int
    rules: tuple[str, ...]
    first: int
    last: int

    def covers(self, problem: Problem) -> bool:
        """Whether the problem is one that the comment disables."""
        return (
            problem.severity == "advice"
            and problem.rule in self.rules
            and problem.file == self.file
            and self.first <= max(problem.line, 1) <= self.last
        )

    def fault(self, message: str, hint: str) -> Problem:
        """Something that is wrong with the comment itself."""
        return Problem(
            message,
            file=self.file,
            line=self.line,
            column=self.column,
            hint=hint,
            rule="lint-comment",
        )

    def unused(self) -> Problem:
        """That the comment disables nothing."""
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
    """The comments in a file, which may be no YAML."""
    text = data.decode("utf-8-sig", "replace")
    lines = text.splitlines()
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
    """Where texts stand that may hold a number sign: in quotes, or in blocks."""
    spans: list[_Span] = []
    try:
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            if isinstance(token, yaml.ScalarToken) and not token.plain:
                start, end = token.start_mark, token.end_mark
                line, column = start.line, start.column
                if token.style in ("|", ">"):  # a comment may follow the mark of a block
                    line, column = line + 1, 0
                spans.append(((line, column), (end.line, end.column)))
    except yaml.YAMLError:
        pass  # told as a syntax error; what was read so far is good enough
    return spans


def _is_within(place: tuple[int, int], spans: list[_Span]) -> bool:
    """Whether a place is in one of the spans, which are in order and apart."""
    index = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return index >= 0 and place < spans[index][1]


class _Scopes:
    """The lines (from 1) that comments of a file apply to; called in the order of the comments, so
    that no line is looked at for each of them.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._above = ""  # the last line before _next that says something
        self._next = 0
        self._field = -1  # the next line that says something
        self._separator = -1
        self._ends: dict[int, int] = {}

    def of(self, number: int, *, alone: bool) -> tuple[int, int]:
        """What a comment on line ``number`` (from 0) is about."""
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
    """The last line (from 1) of the field or item that begins on line ``number`` (from 0)."""
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

"""The source of an expression: map offsets to lines and columns, and print errors like cel-go.

Offsets count code points. An error without a place (an exceeded limit) has the offset ``NOWHERE``;
an error in a part that the parser lost has ``BEFORE``, before the source. Layout and wide carets
follow cel-go's common/error.go; the policy layer maps places to files.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TypeVar

from policyd.errors import CelCompileError, Problem
from policyd.source_excerpt import marked

MAX_SYNTAX_ERRORS = 100
NOWHERE = -2
BEFORE = -1
MAX_ERRORS = 100
_MAX_SNIPPET_BYTES = 16384

Error = TypeVar("Error", bound=CelCompileError)


@dataclass(frozen=True, slots=True)
class Issue:
    """One error of an expression: its offset and message."""

    pos: int
    message: str


class Source:
    """The source of an expression with its line starts."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]

    def place(self, pos: int) -> tuple[int, int]:
        """Return line and column from 1. As in cel-go: ``(-1, 0)`` for NOWHERE, ``(1, 0)`` in an
        empty source.
        """
        if pos == NOWHERE:
            return -1, 0
        if pos == BEFORE or not self.text:
            return 1, 0
        line = bisect_right(self._starts, pos)
        return line, pos - self._starts[line - 1] + 1

    def _line(self, number: int) -> str:
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, both from 1."""
        return self._starts[min(line, len(self._starts)) - 1] + column - 1

    def at(self, pos: int, problem: Problem) -> Problem:
        """Return the problem with the place and the marked line of an offset."""
        line, column = self.place(pos)
        return replace(problem, line=line, column=column, excerpt=self.marked(pos))

    def marked(self, pos: int) -> str:
        """Return the line with a caret below it, for people; cut if it is long."""
        line, column = self.place(pos)
        if line < 1 or not self.text:
            return ""
        return marked(self._line(line), column, margin=" | ", fill=".")

    def excerpt(self, pos: int) -> str:
        """Return the line with a caret below it as cel-go prints it: full-width marks below
        characters beyond ASCII.
        """
        line, column = self.place(pos)
        if line < 1 or not self.text:
            return ""
        column = max(column, 1)
        snippet = self._line(line)
        if len(snippet.encode("utf-8", "surrogatepass")) > _MAX_SNIPPET_BYTES:
            return ""
        snippet = snippet.replace("\t", " ")
        before, after = snippet[: column - 1], snippet[column - 1 : column]
        marks = "".join("." if char.isascii() else "\uff0e" for char in before)
        caret = "^" if after.isascii() else "\uff3e"
        return f" | {snippet}\n | {marks}{caret}"

    def describe(self, issue: Issue) -> str:
        """Return one error block."""
        line, column = self.place(issue.pos)
        excerpt = self.excerpt(issue.pos)
        head = f"ERROR: <input>:{line}:{column}: {issue.message}"
        return f"{head}\n{excerpt}" if excerpt else head

    def error(self, family: type[Error], issues: list[Issue]) -> Error:
        """Return one exception with all errors of an expression, sorted by place, at most 100."""
        kept = sorted(issues[:MAX_ERRORS], key=lambda issue: issue.pos)
        blocks = [self.describe(issue) for issue in kept]
        if len(issues) > MAX_ERRORS:
            blocks.append(f"{len(issues) - MAX_ERRORS} more errors were truncated")
        return family("\n".join(blocks), [self._problem(issue) for issue in kept])

    def _problem(self, issue: Issue) -> Problem:
        line, column = self.place(issue.pos)
        return Problem(
            issue.message,
            line=max(line, 1),
            column=max(column, 1),
            excerpt=self.marked(issue.pos),
            rule="cel",
        )


def limited(issues: list[Issue]) -> list[Issue]:
    """Return the first syntax errors, with a last one that reports more."""
    kept = sorted(issues, key=lambda issue: issue.pos)
    if len(kept) <= MAX_SYNTAX_ERRORS:
        return kept
    last = kept[MAX_SYNTAX_ERRORS]
    message = f"Syntax error: More than {MAX_SYNTAX_ERRORS} syntax errors"
    return [*kept[:MAX_SYNTAX_ERRORS], Issue(last.pos, message)]

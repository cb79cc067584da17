"""The lines of a YAML text, as far as hints need them. Parses nothing."""

from typing import NamedTuple

QUOTES = "'\""
_AS_BLOCK = "or write it on the next lines after '|'"


class Explanation(NamedTuple):
    """The mistake in plain words, the remedy, and the place if it differs from the
    parser's. ``{0}`` and ``{1}`` in both stand for ``lines``, which count from 1. ``value`` is what
    needs quotes, if that is certain.
    """

    summary: str
    hint: str
    lines: tuple[int, ...] = ()
    place: tuple[int, int] | None = None
    value: str = ""

    def numbered(self, first: int) -> "Explanation":
        """Return the texts with the numbers of lines; ``first`` lines come before the text."""
        summary, hint = self.summary, self.hint
        for number, line in enumerate(self.lines):
            summary = summary.replace(f"{{{number}}}", str(line + first))
            hint = hint.replace(f"{{{number}}}", str(line + first))
        return self._replace(summary=summary, hint=hint, lines=())


UNEXPLAINED = Explanation("", "")


class YamlRow(NamedTuple):
    """One line: its indentation, the columns (from 0) of its ``- `` and of what follows, its key
    (None: it has none) and value with its column.
    """

    indent: int
    dashes: tuple[int, ...]
    start: int
    key: str | None
    value: str
    at: int

    @classmethod
    def of(cls, line: str) -> "YamlRow":
        start = indent = len(line) - len(line.lstrip(" "))
        dashes: list[int] = []
        while line[start : start + 2] in ("- ", "-"):
            dashes.append(start)
            start += 1
            start += len(line[start:]) - len(line[start:].lstrip(" "))
        key, at = _key(line, start)
        value = line[at:]
        at += len(value) - len(value.lstrip(" "))
        return cls(indent, tuple(dashes), start, key, line[at:].rstrip(), at)

    @property
    def columns(self) -> tuple[int, ...]:
        """Return the columns at which other lines continue what this line begins."""
        return (*self.dashes, self.start)


def _key(line: str, start: int) -> tuple[str | None, int]:
    """Return the key of ``key: value`` and where the value begins."""
    if line[start : start + 1] in (*QUOTES, "{", "["):
        return None, start
    place = line.find(":", start)
    while place >= 0 and line[place + 1 : place + 2] not in (" ", "", "\t"):
        place = line.find(":", place + 1)
    return (None, start) if place < 0 else (line[start:place], place + 1)


def has_content(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return line.strip() != "" and not line.lstrip().startswith("#")


def before(lines: list[str], line: int) -> int:
    """Return the number of the last line with content before a line; 0 if there is none."""
    return next((n for n in range(line - 1, 0, -1) if has_content(lines[n - 1])), 0)


def quoted(text: str) -> str:
    """Return how to write a value so that YAML takes it as a string."""
    text = text.strip()
    if len(text) > 60 or not text:
        return f"put the value in quotes, {_AS_BLOCK}"
    quote = '"' if "'" in text and '"' not in text and "\\" not in text else "'"
    if quote == "'" and "'" in text:
        return f"write the value on the next lines after '|': {text}"
    return f"put the value in quotes, {quote}{text}{quote}, {_AS_BLOCK}"


def without_comment(value: str) -> str:
    """Return a value without the comment behind it; empty if ' #' may be in a string of it."""
    written = value.partition(" #")[0].rstrip()
    return "" if any(written.count(quote) % 2 for quote in QUOTES) else written

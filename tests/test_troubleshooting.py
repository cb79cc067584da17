"""Every text of policyd that the troubleshooting page quotes is printed by the source tree.

The page writes ``…`` for what differs; a text of the source has ``…`` where an f-string has a value.
Texts of the API server are in a section of their own, and not checked here.
"""

import io
import re
import tokenize
from functools import cache

import pytest

from tests.shared import ROOT
from tools import tree

PAGE = ROOT / "docs" / "reference" / "messages.md"
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
# A replacement field of an f-string, and a pair of braces that stands for one.
VALUE = re.compile(r"\{\{|\}\}|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
ELSEWHERE = "kubectl: the webhook cannot be called"
OURS = (
    "kubectl: policyd denied the request",
    "The log at start",
    "The log while it runs",
    "Commands",
)
SKIPPED = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}


def quoted() -> dict[str, list[str]]:
    """The texts in the first column of the tables with a column "text", by section."""
    found: dict[str, list[str]] = {}
    for title, body in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        _, _, rows = body.partition("| text | meaning | what to do |\n|---|---|---|\n")
        if rows:
            table = rows.partition("\n\n")[0]
            cells = [row.split(" | ")[0] for row in table.splitlines()]
            assert all(SPAN.search(cell) for cell in cells), title
            found[title] = [text for cell in cells for text in SPAN.findall(cell)]
    return found


QUOTED = quoted()


def strings(source: str) -> list[str]:
    """The strings of Python or Cython, adjacent ones joined, with ``…`` for values."""
    found, current = [], ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING:
            current += content(token.string)
        elif token.type not in SKIPPED and current:
            found.append(current)
            current = ""
    return found


def content(literal: str) -> str:
    prefix = literal[: re.search("['\"]", literal).start()].lower()  # type: ignore[union-attr]
    quote = 3 if literal[len(prefix) :].startswith(('"""', "'''")) else 1
    text = literal[len(prefix) + quote : -quote]
    if "f" in prefix:
        text = VALUE.sub(lambda m: m[0][0] if m[0] in ("{{", "}}") else "…", text)
    return text.replace("\\'", "'").replace('\\"', '"')


@cache
def printed() -> str:
    files = [each for each in tree.files("policyd") if each.endswith((".py", ".pyx"))]
    texts = [text for each in files for text in strings((ROOT / each).read_text(encoding="utf-8"))]
    return "\n".join(texts)


def test_each_section_with_texts_is_checked_or_of_the_api_server() -> None:
    assert list(QUOTED) == [ELSEWHERE, *OURS]


@pytest.mark.parametrize("text", [text for title in OURS for text in QUOTED[title]])
def test_policyd_prints_the_text(text: str) -> None:
    assert text in printed()


def test_how_texts_are_found() -> None:
    source = "raise Error(\n    f'no {kind!r} at '  # why\n    \"all\"\n)\nx = f'{{a}} {b[0]:>{width}}'\n"
    assert strings(source) == ["no … at all", "{a} …"]

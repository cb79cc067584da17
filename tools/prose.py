"""Check the prose of pages for banned phrases, and count its words.

python -m tools.prose           # list banned phrases; the status is 1 if there are any
python -m tools.prose --count   # words per page, and in all, without the reference and code blocks

``prose.toml`` has the phrases, with what to write instead.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools import tree

TABLE = Path(__file__).with_suffix(".toml")
# Fenced blocks, code spans, comments of HTML, and the targets of links.
CODE = re.compile(
    r"^( *)```.*?^\1```|<!--.*?-->|(?<!`)(`{1,2})[^`]+?\2(?!`)|(?<=\])\([^)\s]*\)",
    re.MULTILINE | re.DOTALL,
)
FENCED = re.compile(r"^( *)```.*?^\1```|<!--.*?-->", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#.*$", re.MULTILINE)
WORD = re.compile(r"\S*\w\S*")


def settings() -> dict[str, Any]:
    """The table of phrases and pages."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def pages(table: dict[str, Any]) -> list[str]:
    """The pages that are read, as paths from the root."""
    include, exclude = tuple(table["pages"]["include"]), tuple(table["pages"]["exclude"])
    found = (each for each in tree.files() if each.endswith(".md") and each.startswith(include))
    return [each for each in found if not each.startswith(exclude)]


def prose(text: str) -> str:
    """The text with code and targets of links blanked, line breaks in place."""
    return CODE.sub(blank, text)


def blank(found: re.Match[str]) -> str:
    """The same lines without text."""
    return re.sub(r"[^\n]", "\N{NO-BREAK SPACE}", found[0])


def banned(text: str, phrases: list[dict[str, str]]) -> Iterator[tuple[int, str, str]]:
    """Line, phrase and advice for each banned phrase of a page."""
    read = prose(text)
    for phrase in phrases:
        for found in re.finditer(phrase["pattern"], read, re.IGNORECASE):
            group = found.re.groups
            shown = " ".join(found[group].split())
            yield read.count("\n", 0, found.start(group)) + 1, shown, phrase["instead"]


def undefined(text: str, words: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Line, word and anchor for each word of the glossary whose first use is no link to it."""
    read = HEADING.sub(blank, prose(text))
    for anchor, pattern in words.items():
        found = re.search(pattern, read)
        if found and not re.match(rf"[^\]\n]*\]\([^)]*#{anchor}\)", text[found.end() :]):
            yield read.count("\n", 0, found.start()) + 1, found[0], anchor


def words(text: str) -> int:
    """The words of a page, without code blocks; code in a sentence counts."""
    return len(WORD.findall(FENCED.sub("", text).replace("|", " ")))


def problems() -> Iterator[str]:
    """Every banned phrase, and every word of the glossary without a link, with its place."""
    table = settings()
    for page in pages(table):
        text = (tree.ROOT / page).read_text(encoding="utf-8")
        for line, shown, advice in sorted(banned(text, table["banned"])):
            yield f"{page}:{line}: '{shown}': write {advice}"
        if page.startswith("docs/") and not page.startswith(tuple(table["glossary"]["exclude"])):
            for line, word, anchor in undefined(text, table["glossary"]["words"]):
                yield f"{page}:{line}: '{word}': link its first use to concepts.md#{anchor}"


def counts() -> Iterator[tuple[int, str]]:
    """The words of each page of docs/ outside the reference."""
    reference = tuple(settings()["count"]["reference"])
    for page in tree.files("docs"):
        if page.endswith(".md") and not page.startswith(reference):
            yield words((tree.ROOT / page).read_text(encoding="utf-8")), page


def main(arguments: list[str]) -> int:
    """Print problems or counts."""
    if arguments == ["--count"]:
        found = sorted(counts(), reverse=True)
        print("\n".join(f"{number:6,}  {page}" for number, page in found))
        print(f"{sum(number for number, _ in found):6,}  in all")
        return 0
    listed = list(problems())
    print("\n".join((*listed, f"{len(listed)} phrases to replace")))
    return 1 if listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

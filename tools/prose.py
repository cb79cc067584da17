"""Check the prose of pages, comments and docstrings for banned phrases, and count words of pages.
pages.

python -m tools.prose           # list banned phrases; the status is 1 if there are any
python -m tools.prose --count   # words per page, and in all, without the reference and code blocks

``prose.toml`` has the phrases, with what to write instead.
"""

import io
import re
import sys
import tokenize
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
NBSP = "\N{NO-BREAK SPACE}"
_BETWEEN = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def settings() -> dict[str, Any]:
    """The table of phrases and pages."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def pages(table: dict[str, Any]) -> list[str]:
    """The pages that are read, as paths from the root."""
    include, exclude = tuple(table["pages"]["include"]), tuple(table["pages"]["exclude"])
    found = (each for each in tree.files() if each.endswith(".md") and each.startswith(include))
    return [each for each in found if not each.startswith(exclude)]


def sources(table: dict[str, Any]) -> list[str]:
    """The files of Python and Cython that are read, as paths from the root."""
    include, exclude = tuple(table["sources"]["include"]), tuple(table["sources"]["exclude"])
    found = (each for each in tree.files() if each.endswith((".py", ".pyx", ".pxd")))
    return [each for each in found if each.startswith(include) and not each.startswith(exclude)]


def commentary(text: str) -> str:
    """The comments and docstrings of a source, everything else blanked, line breaks in place."""
    lines = text.splitlines(keepends=True)
    kept = [[blank_of(each) for each in line] for line in lines]
    begins = True  # a string that begins a statement is a docstring
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            (first, start), (last, end) = token.start, token.end
            for number in range(first - 1, last):
                left = start if number == first - 1 else 0
                right = end if number == last - 1 else len(lines[number])
                kept[number][left:right] = lines[number][left:right]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in _BETWEEN
    return "".join(map("".join, kept)).replace("#", NBSP).replace('"', NBSP)


def prose(text: str) -> str:
    """The text with code and targets of links blanked, line breaks in place."""
    return CODE.sub(blank, text)


def blank(found: re.Match[str]) -> str:
    """The same lines without text."""
    return "".join(map(blank_of, found[0]))


def blank_of(character: str) -> str:
    """The character if it breaks lines, else a space that is no character of words."""
    return character if character == "\n" else NBSP


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


def remarks() -> Iterator[str]:
    """Every banned phrase in comments and docstrings, with its place."""
    table = settings()
    phrases = [each for each in table["banned"] if not each.get("pages_only")]
    for file in sources(table):
        text = commentary((tree.ROOT / file).read_text(encoding="utf-8"))
        for line, shown, advice in sorted(banned(text, phrases)):
            yield f"{file}:{line}: '{shown}': write {advice}"


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
    listed = [*problems(), *remarks()]
    print("\n".join((*listed, f"{len(listed)} phrases to replace")))
    return 1 if listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

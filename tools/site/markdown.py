"""GitHub's Markdown for Python-Markdown: indentation of lists, pipes in tables, diagrams."""

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^( *)(`{3,})")
DIAGRAM = re.compile(r"^!\[[^]]*\]\((?:\.\./)*(images/[\w-]+\.svg)\)$", re.MULTILINE)
SPAN = re.compile(r"`[^`]+`")
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
LONG_NAME = re.compile(r"(?<=[ >])[^\s<>&;]{25,}(?=[^<>]*</code>)")
PART = re.compile(r"[_/,={(.]")


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", separator)


def adapted(text: str) -> str:
    """A page with lists indented by four and diagrams inline."""
    return DIAGRAM.sub(inline, "\n".join(lines(text)))


def lines(text: str) -> Iterator[str]:
    """The lines of a page; blocks of code move with the list that they belong to."""
    fence, shift = "", 0
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence:
            yield " " * shift + line if line else line
            fence = "" if found and line.strip() == fence else fence
        elif found:
            fence, shift = found[2], wanted(len(found[1])) - len(found[1])
            yield " " * shift + line
        elif line.startswith("|"):
            yield SPAN.sub(lambda span: span[0].replace("\\|", "|"), line)
        else:
            rest = line.lstrip(" ")
            yield " " * wanted(len(line) - len(rest)) + rest if rest else ""


def wanted(indent: int) -> int:
    """The indentation for Python-Markdown: each two or three spaces are a level, of four."""
    return 4 * ((indent + 2) // 3) if indent else 0


def breakable(html: str) -> str:
    """A page whose long names in tables may break, behind their parts."""

    def broken(cell: re.Match[str]) -> str:
        return LONG_NAME.sub(lambda name: PART.sub(r"\g<0><wbr>", name[0]), cell[0])

    return CELL.sub(broken, html)


def inline(found: re.Match[str]) -> str:
    """A diagram as a part of the page, so that it follows the colours of the page."""
    svg = (DOCS / found[1]).read_text(encoding="utf-8")
    return re.sub(r"\n\s*", " ", re.sub(r"<style>.*?</style>", STYLE, svg, flags=re.DOTALL)).strip()


# Without the colours: site.css sets them.
STYLE = (
    "<style>.diagram text{font:14px system-ui,sans-serif;fill:var(--ink)}"
    ".diagram .small{font-size:12px;fill:var(--line)}"
    ".diagram .b{fill:var(--box);stroke:var(--line)}"
    ".diagram .p{fill:var(--accent);stroke:var(--edge)}"
    ".diagram .l{stroke:var(--line);fill:none;stroke-width:1.5}"
    ".diagram .head{fill:var(--line)}</style>"
)

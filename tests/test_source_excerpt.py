"""The caret below a line: under its place on a terminal, and long lines cut around it."""

import unicodedata

import pytest

from policyd.cel.env import Environment
from policyd.errors import CelCompileError
from policyd.source_excerpt import MOST, columns, marked


def caret(text: str) -> str:
    """The character above the caret, by the columns of a terminal."""
    line, marks = text.split("\n")
    at = columns(marks) - 1
    for number in range(len(line)):
        if columns(line[:number]) == at and columns(line[number]):
            return line[number]
    return ""


LINES = {
    "plain": "object.a == X",
    "tabs": "\tobject.a\t== X",
    "wide": "object.a == '日本語' && X",
    "combining": "object.a == 'e\u0301e\u0301' && X",
    "joined": "object.a == '\u200b\u200d' && X",
    "control": "object.a == '\x1b[31m' && X",
    "long before": "true && " * 80 + "X",
    "long after": "X" + " && true" * 80,
    "long around": "true && " * 80 + "X" + " && true" * 80,
    "long and wide": "'日本' == '日本' && " * 40 + "X" + " && '日本' == '日本'" * 40,
    "long and combining": "'e\u0301e\u0301' == '' && " * 40 + "X" + " && 'e\u0301' == ''" * 40,
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize(("margin", "fill"), [(" | ", "."), ("    ", " ")])
def test_the_caret_is_under_its_place(line: str, margin: str, fill: str) -> None:
    text = marked(line, line.index("X") + 1, margin=margin, fill=fill)
    assert caret(text) == "X"
    assert all(columns(each) <= MOST + len(margin) for each in text.split("\n"))
    assert not any(unicodedata.category(each) == "Cc" for each in text.replace("\n", ""))


def test_a_long_line_shows_where_it_is_cut() -> None:
    line = "true && " * 80 + "X" + " && true" * 80
    shown, _ = marked(line, line.index("X") + 1, margin=" | ", fill=".").split("\n")
    assert shown.startswith(" | …")
    assert shown.endswith("…")


def test_the_end_of_a_line_has_a_place() -> None:
    assert marked("ab", 3, margin="", fill=" ") == "ab\n  ^"
    assert marked("", 1, margin="", fill=" ") == "\n^"


def test_only_people_get_the_window() -> None:
    text = "true && " * 80 + "nope"
    with pytest.raises(CelCompileError) as raised:
        Environment.admission().check(text)
    (problem,) = raised.value.problems
    assert caret(problem.excerpt) == "n"
    assert len(problem.excerpt) < 260
    assert f" | {text}\n" in raised.value.text

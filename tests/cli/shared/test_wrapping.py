"""Lines wrapped to the width of a terminal, with hanging indents."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cli.shared.terminal.wrapping import table_row, wrapped, wrapped_line
from policyd.source_excerpt import columns

RED = click.style("seven words", fg="red", bold=True)
LINES: dict[str, tuple[str, int, str]] = {
    "short": ("one two", 40, "one two"),
    "exact": ("a" * 20 + " " + "b" * 19, 40, "a" * 20 + " " + "b" * 19),
    "long": ("a" * 20 + " " + "b" * 20, 40, "a" * 20 + "\n    " + "b" * 20),
    "its own indent counts": (
        "  hint: " + "a" * 20 + " " + "b" * 20, 40, "  hint: " + "a" * 20 + "\n      " + "b" * 20,
    ),
    "a long word stays whole": (
        "/a/" + "b" * 60 + " is a path", 40, "/a/" + "b" * 60 + "\n    is a path",
    ),
    "a long word after an indent": ("      " + "b" * 60, 40, "      " + "b" * 60),
    "colors have no width": (f"{RED} {'a' * 28}", 40, f"{RED} {'a' * 28}"),
    "wide characters have two columns": ("\u6771" * 15 + " " + "\u4eac" * 15, 40,
        "\u6771" * 15 + "\n    " + "\u4eac" * 15),
    "a mark without a letter is a word": ("\u0301 " + "b" * 40, 40, "\u0301\n    " + "b" * 40),
    "each line for itself": ("a" * 30 + " " + "b" * 30 + "\nnext", 40,
        "a" * 30 + "\n    " + "b" * 30 + "\nnext"),
    "a caret and its line": ("    - a: " + "b " * 30 + "\n" + " " * 50 + "^", 40,
        "    - a: " + "b " * 30 + "\n" + " " * 50 + "^"),
    "an excerpt of CEL": (" | " + "b " * 30 + "\n | " + "." * 50 + "^", 40,
        " | " + "b " * 30 + "\n | " + "." * 50 + "^"),
    "an expression": ("      | " + "b " * 30, 40, "      | " + "b " * 30),
    "a dim expression": (click.style("      | " + "b " * 30, dim=True), 40,
        click.style("      | " + "b " * 30, dim=True)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "width", "want"), LINES.values(), ids=LINES)
def test_lines_are_wrapped_at_blanks(text: str, width: int, want: str) -> None:
    assert wrapped(text, width) == want


@pytest.mark.parametrize("text", [row[0] for row in LINES.values()], ids=LINES)
def test_nothing_is_wrapped_outside_of_a_terminal(text: str) -> None:
    assert wrapped(text, None) == text


ROWS = {
    "beside": (("denied", "pod"), "c" * 20 + " " + "d" * 20, 45,
        "denied  pod  " + "c" * 20 + "\n" + " " * 13 + "d" * 20),
    "below": (("denied", "p" * 20), "c" * 25 + " " + "d" * 20, 45,
        "denied  " + "p" * 20 + "\n" + " " * 10 + "c" * 25 + "\n" + " " * 10 + "d" * 20),
    "fits": (("denied", "pod"), "no", 45, "denied  pod  no"),
    "nothing to say": (("denied", "pod   "), "", 45, "denied  pod"),
    "nothing to say, and no room": (("denied", "p" * 30), "", 45, "denied  " + "p" * 30),
    "no terminal": (("denied", "p" * 30), "c " * 30 + "d", None,
        "denied  " + "p" * 30 + "  " + "c " * 30 + "d"),
}  # fmt: skip


@pytest.mark.parametrize(("cells", "last", "width", "want"), ROWS.values(), ids=ROWS)
def test_the_last_cell_is_wrapped_below_itself(
    cells: tuple[str, ...], last: str, width: int | None, want: str
) -> None:
    assert table_row(cells, last, width) == want


WORDS = st.text(st.sampled_from("ab|^. \u6771\u0301-:"), max_size=200)
WIDTHS = st.integers(1, 120)


@given(WORDS, WIDTHS, st.integers(0, 40))
def test_unwrapping_gives_the_text_back(text: str, width: int, indent: int) -> None:
    made = wrapped_line(text, width, indent)
    used = min(indent, max(0, width - 30))
    assert made.replace("\n" + " " * used, " ") == text
    for line in made.split("\n"):
        assert columns(line) <= width or " " not in line.rstrip(" ").lstrip(" ")


@given(WORDS, WIDTHS)
def test_colors_change_no_break(text: str, width: int) -> None:
    colored = " ".join(click.style(word, fg="red") if word else "" for word in text.split(" "))
    assert click.unstyle(wrapped_line(colored, width)) == wrapped_line(text, width)

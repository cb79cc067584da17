"""docs/reference/functions.md: complete, and as the functions are."""

from policyd.cel.syntax.macros import RECEIVER_MACROS
from policyd.cel.types.functions import declarations
from tools.function_table import OPERATORS, SECTIONS
from tools.make_function_docs import PAGE, page

ROWS = [row for section in SECTIONS.values() for row in section]
INTERNAL = "@"  # in the names of functions that only macros call; `in` is an operator


def test_the_page_is_made_of_the_functions() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.make_function_docs"


def test_every_function_and_operator_is_documented_once() -> None:
    named = [OPERATORS.get(row.name, row.name) for row in ROWS if "(" not in row.name]
    assert len(named) == len(set(named))
    public = {each.name for each in declarations() if INTERNAL not in each.name}
    assert set(named) == public | {OPERATORS["in"]}


def test_every_macro_is_documented() -> None:
    named = {(row.name.partition("(")[0], row.name.count(",") + 1) for row in ROWS}
    of_maps = {(name, 3) for name, arguments in RECEIVER_MACROS if name.startswith("transform")}
    spelled_alike = {("exists_one", 3)}
    undocumented = RECEIVER_MACROS.keys() - named
    assert undocumented - spelled_alike == {(name, 4) for name, _ in of_maps}

"""The examples in the libraries' tables: ``expression // what it gives``."""

import pytest

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from tests.core.lib.evaluate import evaluate

EXAMPLES = [row.doc for library in KNOWN_LIBRARIES for row in library.overloads if row.doc]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_holds(example: str) -> None:
    expression, mark, wanted = example.rpartition(" // ")
    assert mark
    found = evaluate(expression)
    want = evaluate(wanted)
    assert (type(found), found) == (type(want), want)


def test_every_library_shows_what_it_does() -> None:
    silent = [
        library.name
        for library in KNOWN_LIBRARIES
        if any(row.runs for row in library.overloads)
        and not any(row.doc for row in library.overloads)
    ]
    assert silent == []

"""The examples in the libraries' tables: ``expression // what it gives``."""

import pytest

from policyd._core.eval.functions import Library
from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.env import Environment
from policyd.versions import LATEST
from tests import authorizers

ALL = Environment.kubernetes(LATEST)  # with what any supported version has


@pytest.mark.parametrize("library", KNOWN_LIBRARIES, ids=lambda library: library.name)
def test_examples_hold(library: Library) -> None:
    for row in library.overloads:
        expression, mark, wanted = row.doc.rpartition(" // ")
        assert bool(mark) is bool(row.doc), row.doc
        if mark:
            found, want = (
                ALL.compile(each).evaluate_with_cost(authorizers.variables())[0]
                for each in (expression, wanted)
            )
            assert (type(found), found) == (type(want), want), row.doc


def test_every_library_shows_what_it_does() -> None:
    silent = [
        library.name
        for library in KNOWN_LIBRARIES
        if any(row.runs for row in library.overloads)
        and not any(row.doc for row in library.overloads)
    ]
    assert silent == []

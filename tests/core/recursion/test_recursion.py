"""Every recursive function has a bound, and no value of any depth ends the process."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable

import pytest

from tests.core.recursion import compiled, interpreted
from tests.core.recursion.table import COMPILED, INTERPRETED, PLACES, Bound
from tests.shared import ROOT


def unknown(groups: Iterable[frozenset[str]], table: tuple[Bound, ...]) -> list[str]:
    """Return the functions that no row of the table names, and rows that name none."""
    functions = {name for group in groups for name in group}
    rows = [re.compile(row.functions) for row in table]
    unnamed = [each for each in functions if not any(row.fullmatch(each) for row in rows)]
    idle = [row.pattern for row in rows if not any(map(row.fullmatch, functions))]
    return sorted(unnamed) + idle


def test_every_recursive_function_of_the_core_is_in_the_table() -> None:
    groups = compiled.recursive_functions()
    assert frozenset({"json.equality:same"}) in groups  # what is known to recurse is found
    assert any("eval.logic:And.eval" in group for group in groups)
    assert unknown(groups, COMPILED) == []


def test_every_recursive_function_of_the_request_path_is_in_the_table() -> None:
    groups = interpreted.recursive_functions(*PLACES)
    assert frozenset({"bounded_text:encodable_tree"}) in groups
    assert unknown(groups, INTERPRETED) == []


@pytest.mark.parametrize("attack", ["values", "documents", "policies"])
def test_no_depth_ends_the_process(attack: str) -> None:
    """In a child process, in a thread with 1 MiB of C stack, as threads of musl have."""
    command = [sys.executable, "-m", "tests.core.recursion.attacks", attack]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"died after {rows[-1] if rows else None}: {done.stderr[-2000:]}"
    wrong = [row for row in rows if not row["as_expected"]]
    assert rows and wrong == []

"""The tables of cel-go and of Kubernetes' own CEL libraries: values, errors and costs.

Their programs are not folded and not validated as Kubernetes does it for policies.
"""

from collections.abc import Callable
from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.values.errors import CelError
from policyd.cel.check.checker import check
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.parser import parse
from policyd.cel.types.declarations import Scope, group, parse_type
from policyd.errors import CelCompileError
from tests.conformance.declarations import STANDARD
from tests.conformance.tagged import decode, plain_or_tagged
from tests.core.lib.evaluate import as_json
from tests.shared import conformance

Row = dict[str, Any]

# Tables that say nothing about policyd, with the reason.
TABLES_ELSEWHERE = {
    "TestRuntimeCost": "presence tests cost 1 there; variables are protocol buffers",
    "TestStringFormat": "format strings without an expression",
    "TestStringFormatV2": "the second formatter, which Kubernetes does not use",
    "testData": "variables and functions of cel-go's own tests",
    "TestAuthzLibrary": "needs an authorizer, which test_k8s_cel_library.py has",
}
# Folded programs do not charge for the empty list or map that these begin with; tests/core/rows has
# their costs in Kubernetes.
UNFOLDED = (".transformList(", ".transformMap(", ".transformMapEntry(", ".sortBy(")
# Functions and macros of the tables that Kubernetes does not have.
ABSENT = ("cel.bind", "'.reverse()", "k.reverse()", ".includes(")
LATER = "strings of a later version clamp the index; version 2, which Kubernetes uses, does not"
EXCLUDED = {
    "'tacocat'.indexOf('', 30) == 7": LATER,
    "'tacocat'.indexOf('', -1) == 0": LATER,
    "'tacocat'.lastIndexOf('', 30) == 7": LATER,
    "'tacocat'.lastIndexOf('', -1) == 0": LATER,
    "m.all(i, v, i < 5 && v > 0)": "the int keys of its map are strings in the row",
    'quantity("12Mi")': "a quantity has no text in CEL",
}


def outcome(row: Row) -> tuple[Any, int | None]:
    """The value or CelError with its cost (None where it says nothing or nothing was run)."""
    declared = {entry["name"]: parse_type(entry["type"]) for entry in row.get("vars", [])}
    layout = Layout(tuple(declared))
    try:
        checked = check(row["expr"], parse(row["expr"]), Scope(declared, group(STANDARD)))
        program = plan(checked, layout, fold=False)
    except CelCompileError as error:
        return CelError(str(error)), None
    given = {name: plain_or_tagged(value) for name, value in row.get("in", {}).items()}
    value, cost = program.evaluate_with_cost(given)
    return value, None if any(macro in row["expr"] for macro in UNFOLDED) else cost


def cel_go(row: Row) -> str | None:
    """Why a row of cel-go fails. Its errors are those of its newest libraries: only that is checked."""
    value, found = outcome(row)
    expect = row["expect"]
    if "error_contains" in expect:
        return None if isinstance(value, CelError) else f"no error but {value!r}"
    if isinstance(value, CelError):
        return value.message
    if "value" in expect and as_json(value) != expect["value"]:
        return f"{value!r}, expected {expect['value']!r}"
    wanted = expect.get("runtime_cost")
    return None if found is None or wanted in (None, found) else f"cost {found}, expected {wanted}"


def library(row: Row) -> str | None:
    value, _ = outcome(row)
    expect = row["expect"]
    if "value" not in expect:
        return None if isinstance(value, CelError) else f"no error but {value!r}"
    if isinstance(value, CelError):
        return value.message
    try:
        wanted = as_json(decode(expect["value"]))
    except ValueError:  # a quantity, an address …
        wanted = expect["value"]["v"]
    return None if as_json(value) == wanted else f"{value!r}, expected {wanted!r}"


def cost(row: Row) -> str | None:
    value, found = outcome(row)
    if isinstance(value, CelError):
        return value.message
    return (
        None
        if found in (None, row["runtime_cost"])
        else f"cost {found}, expected {row['runtime_cost']}"
    )


def applies(row: Row) -> bool:
    if row["test"] in TABLES_ELSEWHERE or row.get("expr") in EXCLUDED:
        return False
    return "expr" in row and not any(name in row["expr"] for name in ABSENT)


@pytest.mark.parametrize(
    ("file", "failure"),
    [
        ("cel-go/tables.jsonl", cel_go),
        ("k8s-cel-library/library-tests.jsonl", library),
        ("k8s-cel-library/cost-tests.jsonl", cost),
    ],
)
def test_rows(
    file: str, failure: Callable[[Row], str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for row in conformance(file) if applies(row)]
    failures = {row["expr"]: why for row in rows if (why := failure(row)) is not None}
    with capsys.disabled():
        print(f"\n{file}: {len(rows) - len(failures)} passed of {len(rows)}")
    assert failures == {}

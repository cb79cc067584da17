"""The rows of google/cel-spec that apply to Kubernetes: all must pass."""

from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.values.errors import CelError
from policyd.cel.check.checker import check
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked
from policyd.cel.syntax.parser import parse
from policyd.cel.types.declarations import OverloadDecl, Scope, group, parse_signature, parse_type
from policyd.cel.types.functions import functions as known
from policyd.cel.types.structs import Structs
from policyd.errors import CelTypeError
from policyd.versions import NEWEST
from tests.conformance.tagged import decode, same
from tests.shared import conformance

FILE = "cel-spec/cel-spec-simple.jsonl"
NUMBER_OF_ROWS = 1_234
# Rows that are not run, with the reason; nor those in a container, which Kubernetes leaves empty.
NO_ERROR = "Kubernetes leaves EnableErrorOnBadPresenceTest off: a scalar has no fields, no error"
FOLDED = "Kubernetes folds the key to a constant, and refuses a program with such a key"
EXCLUDED = {
    "fields/map_fields/map_bad_key_type_and_false": FOLDED,
    "fields/map_fields/map_bad_key_type_or_true": FOLDED,
    "optionals/optionals/map_null_entry_no_such_key": NO_ERROR,
    "optionals/optionals/map_present_key_invalid_field": NO_ERROR,
}

Row = dict[str, Any]
STANDARD = [
    parse_signature(row.signature, row.name, row.id) for row in known(NEWEST).by_id.values()
]


def row_id(row: Row) -> str:
    return f"{row['file']}/{row['section']}/{row['name']}"


def declared(entry: Row) -> OverloadDecl:
    """A function that a row declares for itself."""
    overload = entry["overloads"][0]
    text = f"{entry['name']}({', '.join(overload['params'])}) -> {overload['result']}"
    return parse_signature(text.replace("param:", ""), entry["name"])


def scope(row: Row) -> Scope:
    entries = row.get("type_env", [])
    variables = {entry["name"]: parse_type(entry["type"]) for entry in entries if "type" in entry}
    functions = [declared(entry) for entry in entries if "overloads" in entry]
    return Scope(variables, group([*STANDARD, *functions]), Structs({}))


def outcome(row: Row) -> tuple[Checked, Any]:
    """The checked expression, and its value or CelError (None where it is only checked)."""
    expr, variables = parse(row["expr"]), row.get("bindings", {})
    values = {name: decode(value) for name, value in variables.items()}
    layout = Layout(tuple(values))
    checked = check(row["expr"], expr, scope(row))
    if row.get("check_only"):
        return checked, None
    return checked, plan(checked, layout).evaluate_with_cost(values)[0]


def failure(row: Row) -> str | None:
    """Why a row fails, None if it passes."""
    expect = row["expect"]
    try:
        checked, value = outcome(row)
    except CelTypeError as error:
        return None if "error" in expect else str(error)
    if "error" in expect:
        return None if isinstance(value, CelError) else f"no error but {value!r}"
    if "deduced_type" in expect:
        found = checked.result_type.display()
        if found != expect["deduced_type"]:
            return f"type {found}, expected {expect['deduced_type']}"
    if row.get("check_only"):
        return None
    expected = decode(expect["value"])
    return None if same(value, expected) else f"{value!r}, expected {expected!r}"


def test_every_row_for_kubernetes_passes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row for row in conformance(FILE) if row["k8s_applicable"]]
    run = [row for row in rows if row_id(row) not in EXCLUDED and "container" not in row]
    failures = {row_id(row): why for row in run if (why := failure(row))}
    with capsys.disabled():
        print(f"\ncel-spec: {len(run) - len(failures)} passed of {len(rows)}")
    assert len(rows) == NUMBER_OF_ROWS
    assert failures == {}

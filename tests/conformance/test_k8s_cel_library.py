"""The tests of Kubernetes' own CEL libraries: results, errors and costs."""

import json
import re
from typing import Any

from policyd._core.eval.layout import Layout
from policyd._core.values.errors import CelError
from policyd.cel.check.checker import check
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.parser import parse
from policyd.errors import CelCompileError
from tests.authorizers import variables
from tests.conformance.unchecked import plan_unchecked
from tests.core.lib.evaluate import as_json
from tests.shared import conformance

RESULTS = "k8s-cel-library/library-tests.jsonl"
COSTS = "k8s-cel-library/cost-tests.jsonl"


def run(expression: str) -> tuple[Any, int]:
    """A refused expression is a CelError too. Literals of mixed types run unchecked: policies may not
    write them, the tests of the libraries do.
    """
    try:
        return Environment.kubernetes().compile(expression).evaluate_with_cost(variables())
    except CelCompileError as refused:
        if "expected type" in refused.text:
            return plan_unchecked(expression).evaluate_with_cost({})
        return CelError(refused.text), 0


def test_results_are_those_of_kubernetes() -> None:
    rows = conformance(RESULTS)
    failures = {
        f"{row['test']} {row['name']}": failure
        for row in rows
        if (failure := judge(row)) is not None
    }
    print(f"{len(rows) - len(failures)} passed of {len(rows)}")
    assert failures == {}


def judge(row: dict[str, Any]) -> str | None:
    """None, or what is wrong."""
    value, _ = run(row["expr"])
    expect = row["expect"]
    if "value" in expect:
        if isinstance(value, CelError):
            return value.message
        if expect["value"]["t"] == "quantity":  # prints in its own canonical form
            return (
                None
                if run(f"{row['expr']} == quantity('{expect['value']['v']}')")[0]
                else "differs"
            )
        got, want = as_json(value), wanted(expect["value"])
        return None if json.dumps(got) == json.dumps(want) else f"{got!r}, not {want!r}"
    error = value.message if isinstance(value, CelError) else f"no error but {value!r}"
    if "runtime_error_exact" in expect:
        return None if error == expect["runtime_error_exact"] else error
    patterns = expect.get("compile_error_regexps") or [expect["runtime_error_regexp"]]
    return None if all(re.search(pattern, error) for pattern in patterns) else error


def wanted(tagged: Any) -> Any:
    """A tagged value in the form of ``as_json``."""
    if not isinstance(tagged, dict):
        return tagged
    kind, value = tagged["t"], tagged["v"]
    if kind in ("int", "uint"):
        return int(value)
    if kind == "double":
        return float(value)
    if kind == "optional":
        return "optional.none()" if value is None else {"optional": wanted(value)}
    if kind == "list":
        return [wanted(item) for item in value]
    return value


def test_costs_are_those_of_kubernetes() -> None:
    """The recorded programs were neither folded nor validated: literals may be mixed, and cost."""
    rows = conformance(COSTS)
    scope = Environment.kubernetes().scope()
    failures = {}
    for row in rows:
        checked = check(row["expr"], parse(row["expr"]), scope)
        value, cost = plan(checked, Layout(), fold=False).evaluate_with_cost(variables())
        if isinstance(value, CelError) or cost != row["runtime_cost"]:
            failures[row["expr"]] = f"{value!r}: {cost}, not {row['runtime_cost']}"
    print(f"{len(rows) - len(failures)} passed of {len(rows)}")
    assert failures == {}

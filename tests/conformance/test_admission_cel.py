"""Expressions over admission attributes, composed variables and their budgets: Kubernetes' unit tables."""

from typing import Any

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd._core.lib import authz
from policyd._core.values.errors import CelError
from policyd.admission.lookups.authorizer import AuthorizerRule, StaticAuthorizer
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.errors import BudgetExceeded, CelCompileError
from tests.cel.variables import with_variables
from tests.shared import conformance

Row = dict[str, Any]
OLD_VERSION = "compiles as Kubernetes 1.27 would: policyd has the environment of 1.36 only"
NOT_APPLICABLE = {
    "cel lib not recognized in version earlier than introduced version": OLD_VERSION,
}
OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


def reason(row: Row) -> str | None:
    """Why a row is not run, or None."""
    return NOT_APPLICABLE.get(row["name"])


def shown(attributes: Row) -> Row:
    """``request`` as CEL sees it; fields that are empty are absent."""
    given = {
        "kind": attributes["kind"],
        "resource": attributes["resource"],
        "requestKind": attributes["kind"],
        "requestResource": attributes["resource"],
        "subResource": attributes["subresource"],
        "name": attributes["name"],
        "namespace": attributes["namespace"],
        "operation": attributes["operation"],
        "dryRun": attributes["dryRun"],
        "userInfo": attributes.get("userInfo") or {},
        "options": None,
    }
    return {key: value for key, value in given.items() if value != ""}


def authorizer(row: Row) -> StaticAuthorizer:
    """The row's authorizer: it allows one question, or nothing, or fails."""
    given = row.get("authorizer") or {}
    if given.get("authorizer") == "errorAll":
        return StaticAuthorizer([AuthorizerRule(error="fake authz error")])
    deny = AuthorizerRule(allowed=False, reason="fake reason")
    only = given.get("allow_only")
    if only is None:
        return StaticAuthorizer([deny])
    user = only.get("user") or {}
    asked = {"path": only["path"]} if "path" in only else {
        "group": only.get("apiGroup", ""),
        **{name: only.get(name, "") for name in ("resource", "subresource", "namespace", "name")},
    }  # fmt: skip
    rule = AuthorizerRule(
        verb=only["verb"],
        user=user.get("name"),
        groups=tuple(user["groups"]) if user else None,
        **asked,
    )
    return StaticAuthorizer([rule, deny])


def bindings(row: Row) -> Row:
    attributes = row["attributes"]
    return {
        **authz.variables(authorizer(row), shown(attributes)),
        "object": attributes["object"],
        "oldObject": attributes["oldObject"],
        "request": shown(attributes),
        "namespaceObject": row.get("namespaceObject"),
        "params": row.get("params"),
    }


class Policy:
    """The expressions of one row, compiled as those of one policy."""

    def __init__(self, row: Row) -> None:
        self.environment = Environment.admission(
            params=row.get("params_declared", False), authorizer=True
        )
        self.layout = Layout()
        programs: dict[str, Program] = {}
        for variable in row.get("variables", []):
            if programs:
                self.environment = with_variables(self.environment, programs)
            programs[variable["name"]] = self.compile(variable["expression"])
            self.layout.define(variable["name"], programs[variable["name"]])
        if programs:
            self.environment = with_variables(self.environment, programs)

    def compile(self, text: str) -> Program:
        return plan(self.environment.check(text), self.layout)


def outcome(row: Row, text: str, policy: Policy | None = None) -> tuple[Any, int]:
    """The value of an expression or the text of its error, and its cost."""
    try:
        program = (policy or Policy(row)).compile(text)
        limit = row.get("perCallLimit") or 1_000_000
        value, cost = program.evaluate_with_cost(bindings(row), cost_limit=limit)
    except CelCompileError as error:
        return f"compilation error: {error.text}", 0
    except BudgetExceeded as error:
        return str(error), 0
    if isinstance(value, CelError):
        return f"expression '{text}' resulted in error: {value.message}", cost
    return value, cost


def agrees(got: Any, expect: Row) -> bool:
    if "error_contains" in expect:
        return isinstance(got, str) and expect["error_contains"] in got
    want = expect["value"]
    return bool(got is (want["v"] if isinstance(want, dict) else want))


def report(name: str, rows: list[Row], wrong: list[Any]) -> None:
    left_out = [row["name"] for row in rows if reason(row)]
    print(f"k8s-admission/{name}: {len(rows) - len(left_out) - len(wrong)} passed of {len(rows)}")
    for row in rows:
        if reason(row):
            print(f"  {row['name']}: {reason(row)}")


def test_conditions() -> None:
    rows = conformance("k8s-admission/cel-conditions.jsonl")
    wrong = []
    for row in rows:
        if not reason(row):
            got, _ = outcome(row, row["expr"])
            if not agrees(got, row["expect"]):
                wrong.append((row["name"], row["expr"], got, row["expect"]))
    report("cel-conditions", rows, wrong)
    assert wrong == []


def test_composed_variables() -> None:
    rows = conformance("k8s-admission/cel-variable-composition.jsonl")
    wrong = []
    for row in rows:
        got, cost = outcome(row, row["expr"])
        if row["budget"] is not None and cost > row["budget"]:
            got = OUT_OF_BUDGET
        if not agrees(got, row["expect"]):
            wrong.append((row["name"], got, cost, row["expect"]))
    report("cel-variable-composition", rows, wrong)
    assert wrong == []


def test_budgets() -> None:
    rows = conformance("k8s-admission/cel-cost-budget.jsonl")
    wrong = []
    for row in rows:
        if reason(row):
            continue
        found = [outcome(row, text) for text in row["expressions"]]
        left = row["budget"] - sum(cost for _, cost in found)
        expect = row["expect"]
        fits = left < 0 if expect["exceedBudget"] else left == expect["remaining"]
        if expect["exceedPerCallLimit"]:
            fits = any("cost limit exceeded" in str(value) for value, _ in found)
        if not fits:
            wrong.append((row["name"], row["expressions"], left, expect))
    report("cel-cost-budget", rows, wrong)
    assert wrong == []

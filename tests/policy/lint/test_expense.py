"""Advice on expressions that may cost too much."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.expense import expensive
from policyd.policy.lint.run import LintRun
from tests.builders.policies import MUTATION, map_, policy, vap
from tests.policy_sets import loaded

EVERY_PAIR = "object.a.all(x, object.b.all(y, object.c.all(z, x + y + z != '')))"
ASKING = "object.a.all(x, authorizer.group('').resource('pods').name(x).check('get').allowed())"
MATCHING = "object.a.all(x, x.matches('^[a-z]+$'))"


def validation(expression: str) -> JSONObject:
    return policy(validations=[{"expression": expression}])


ROWS: list[tuple[str, JSONObject, list[str]]] = [
    ("one loop", validation(MATCHING), []),
    ("a loop in a loop", validation("object.a.all(x, x.b.all(y, y.c > 1))"), []),
    ("three loops", validation(EVERY_PAIR), ["spec.validations[0].expression"]),
    ("of a VAP", vap(validations=[{"expression": EVERY_PAIR}]), ["spec.validations[0].expression"]),
    ("a pattern in a loop in a loop",
     validation("object.a.all(x, x.b.all(y, y.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?[a-z0-9.]*$')))"),
     ["spec.validations[0].expression"]),
    ("a range of unknown size",
     validation("lists.range(object.a.size()).all(i, object.a[i] != '')"), []),
    ("a variable", policy(
        variables=[{"name": "a", "expression": EVERY_PAIR}],
        validations=[{"expression": "variables.a"}]),
     ["spec.variables[0].expression"]),
    ("a variable in a loop", policy(
        variables=[{"name": "a", "expression": "[1, 2, 3]"}],
        validations=[{"expression": "variables.a.all(x, x > 1)"}]),
     []),
    ("a matchCondition", policy(matchConditions=[{"name": "a", "expression": EVERY_PAIR}]),
     ["spec.matchConditions[0].expression"]),
    ("a message", policy(validations=[{
        "expression": "object.a == 1", "messageExpression": f"string({EVERY_PAIR})"}]),
     ["spec.validations[0].messageExpression"]),
    ("an annotation", policy(auditAnnotations=[{"key": "k", "valueExpression": f"string({EVERY_PAIR})"}]),
     ["spec.auditAnnotations[0].valueExpression"]),
    ("a mutation", map_(mutations=[{
        **MUTATION, "jsonPatch": {"expression": f"{EVERY_PAIR} ? [JSONPatch{{}}] : []"}}]),
     ["spec.mutations[0].jsonPatch.expression"]),
]  # fmt: skip


@pytest.mark.parametrize(("document", "paths"), [pytest.param(*row[1:], id=row[0]) for row in ROWS])
def test_advice(document: JSONObject, paths: list[str]) -> None:
    found = list(in_policies(LintRun(loaded(document)), expensive))
    assert [each.path for each in found] == paths
    assert all(each.rule == "expensive-expression" and each.line > 0 for each in found)
    assert all(each.severity == "advice" and "units" in each.message for each in found)

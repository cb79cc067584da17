"""Advice on conditions that are the same for all requests; and which expressions are looked at."""

import pytest

from policyd.policy.compile.checked import checked_expressions
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.settled import constant
from tests.builders.policies import policy
from tests.policy_sets import loaded

ROWS = [
    ("object.kind == 'Pod' || true", "is always true"),
    ("false && object.spec.hostNetwork", "is always false"),
    ("1 == 1", "is always true"),
    ("!(variables.x > 1 || true)", "is always false"),
    ("[].all(c, c == object.a)", "is always true"),
    ("true", ""),
    ("false", ""),
    ("object.a == 1", ""),
    ("has(object.a)", ""),
    ("object.?a.orValue(true)", ""),
    ("object.items.all(c, true)", ""),
    ("variables.x == 1", ""),
    ("request.operation == 'CREATE' ? true : true", ""),
    ("lists.range(100000).all(x, lists.range(100000).all(y, true))", ""),
    ("nothing == 1", ""),
]


@pytest.mark.parametrize(("expression", "told"), ROWS)
def test_advice(expression: str, told: str) -> None:
    variables = [{"name": "x", "expression": "2 - 1"}]
    found = list(
        in_policies(
            LintRun(loaded(policy(variables=variables, validations=[{"expression": expression}]))),
            constant,
        )
    )
    assert [each.path for each in found] == (["spec.validations[0].expression"] if told else [])
    assert all(each.message.startswith(told) and each.line > 0 for each in found)
    assert all((each.rule, each.severity) == ("constant-expression", "advice") for each in found)


def test_match_conditions_are_looked_at() -> None:
    conditions = [{"name": "a", "expression": "object.a == 1 || true"}]
    found = list(in_policies(LintRun(loaded(policy(matchConditions=conditions))), constant))
    assert [each.path for each in found] == ["spec.matchConditions[0].expression"]


def test_what_does_not_compile_is_left_out() -> None:
    document = policy(
        variables=[{"name": "a", "expression": "nothing"}],
        validations=[{"expression": "variables.a == 1"}, {"expression": "1 == 1"}],
    )
    found = [each.expression.at for each in checked_expressions(loaded(document))]
    assert found == ["spec.validations[1].expression"]

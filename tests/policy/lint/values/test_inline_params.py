"""Advice on fields that inline params do not have."""

import pytest

from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.inline_params import RULE, missing_params
from tests.builders.policies import policy
from tests.policy_sets import loaded

PARAMS = {"maximum": 3, "limits": {"memory": "1Gi"}}
ROWS = [
    ("size(object.items) <= params.maximun", "params has no field 'maximun'", "params.maximum?"),
    ("object.a == params['maximun']", "params has no field 'maximun'", "params.maximum?"),
    ("object.a == params.limits.cpu", "params.limits has no field 'cpu'", "it has memory"),
    ("object.a == params.limits.memory && params.maximum > 1", "", ""),
    ("has(params.other) ? params.other == 1 : true", "", ""),
    ("params.?other.orValue(1) == 1", "", ""),
    ("object.items.exists(params, params.other == 1)", "", ""),
    ("variables.most == 1", "", ""),
]


@pytest.mark.parametrize(("expression", "message", "hint"), ROWS)
def test_advice(expression: str, message: str, hint: str) -> None:
    variables = [{"name": "most", "expression": "params.maximum"}]
    validations = [{"expression": expression}]
    document = policy(params=PARAMS, variables=variables, validations=validations)
    found = list(in_policies(LintRun(loaded(document)), missing_params))
    assert [each.message for each in found] == ([message] if message else [])
    assert all(hint in each.hint and each.line > 0 for each in found)
    assert all((each.rule, each.severity) == (RULE, "advice") for each in found)


def test_policies_without_inline_params_have_no_advice() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    ref = {"name": "a", "namespace": "b", "parameterNotFoundAction": "Deny"}
    expressions = [{"expression": "params.data.a == 'b'"}]
    document = policy(paramKind=kind, paramRef=ref, validations=expressions)
    assert list(in_policies(LintRun(loaded(document)), missing_params)) == []

"""Advice on fields that are compared with null: to find out whether they are there, has() is meant."""

import pytest

from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from tests.builders.policies import demand, policy
from tests.policy_sets import loaded

HINTS = {
    "object.spec.nodeName == null": "write !has(object.spec.nodeName)",
    "null != object.spec.nodeName": "write has(object.spec.nodeName)",
    "has(object.metadata.labels) && object.metadata.labels['a'] == null":
        "write !('a' in object.metadata.labels)",
    "object.spec.nodeName == 'a'":
        "write has(object.spec.nodeName) && …, or object.spec.?nodeName.orValue(…)",
}  # fmt: skip


@pytest.mark.parametrize(("expression", "hint"), HINTS.items(), ids=HINTS)
def test_a_comparison_with_null_asks_whether_the_field_is_there(expression: str, hint: str) -> None:
    sources = loaded(policy(validations=[demand(expression, "no")]))
    (found,) = list(unguarded(LintRun(sources)))
    assert found.hint == hint

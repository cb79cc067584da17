"""Errors of literals that Kubernetes checks at compile time have a hint."""

import pytest

from policyd.policy.compile.compiler import compile_sources
from tests.builders.policies import demand, policy
from tests.policy_sets import loaded


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("duration('5 minutes') > duration('1s')", "invalid duration argument", "'1h30m'"),
        ("timestamp('2027-03-31') < timestamp('2027-03-31T00:00:00Z')",
         "invalid timestamp argument", "'2027-03-31T00:00:00Z'"),
        ("object.metadata.name.matches('^(?!x)')", "invalid matches argument", "RE2"),
    ],
)  # fmt: skip
def test_a_wrong_literal_has_a_hint(expression: str, message: str, hint: str) -> None:
    compiled = compile_sources(loaded(policy(validations=[demand(expression, "no")])))
    (problem,) = compiled.problems
    assert message in problem.message
    assert hint in problem.hint

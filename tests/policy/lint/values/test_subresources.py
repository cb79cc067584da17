"""Validated fields that can be changed through a subresource, which no rule matches."""

import pytest

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.subresources import uncovered
from tests.builders.policies import DEPLOYMENTS, EVERYTHING, PODS, demand, policy, rule
from tests.policy_sets import loaded

EPHEMERAL = "object.spec.?ephemeralContainers.orValue([]).all(c, c.image != 'x')"
LIMITS = "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))"
REPLICAS = "object.spec.replicas < 10"

# The rules, an expression, the subresource that is missing.
OPEN: list[tuple[list[JSONObject], str, str]] = [
    ([PODS], EPHEMERAL, "pods/ephemeralcontainers"),
    ([rule("pods", "pods/status")], EPHEMERAL, "pods/ephemeralcontainers"),
    ([PODS, rule("pods/ephemeralcontainers", operations=["CREATE"])], EPHEMERAL,
     "pods/ephemeralcontainers"),
    ([PODS], LIMITS, "pods/resize"),
    ([DEPLOYMENTS], REPLICAS, "deployments/scale"),
    ([rule("statefulsets", group="apps", operations=["*"])], REPLICAS, "statefulsets/scale"),
]  # fmt: skip
COVERED: list[tuple[list[JSONObject], str]] = [
    ([rule("pods", "pods/ephemeralcontainers")], EPHEMERAL),
    ([PODS, rule("pods/ephemeralcontainers", operations=["UPDATE"])], EPHEMERAL),
    ([rule("pods", "pods/*")], EPHEMERAL),
    ([rule("pods", "*/resize")], LIMITS),
    ([EVERYTHING], EPHEMERAL),
    ([rule("pods", operations=["CREATE"])], EPHEMERAL),  # another rule reports that
    ([rule("deployments", "deployments/scale", group="apps")], REPLICAS),
    ([PODS], "object.spec.containers.all(c, c.image != 'x')"),
    ([DEPLOYMENTS], LIMITS),
    ([rule("daemonsets", group="apps")], REPLICAS),
]


@pytest.mark.parametrize(("rules", "expression", "missing"), OPEN)
def test_a_subresource_that_writes_the_field_is_missing(
    rules: list[JSONObject], expression: str, missing: str
) -> None:
    (found,) = found_in(rules, {"validations": [demand(expression, "no")]})
    assert (found.rule, found.severity) == ("subresource-not-covered", "advice")
    assert found.message.startswith(f"{missing} is not covered")
    assert found.hint.startswith(f"add {missing} to the resources")


@pytest.mark.parametrize(("rules", "expression"), COVERED)
def test_no_subresource_is_missing(rules: list[JSONObject], expression: str) -> None:
    assert found_in(rules, {"validations": [demand(expression, "no")]}) == []


def test_variables_and_patterns_are_read_too() -> None:
    variable = {
        "variables": [{"name": "all", "expression": "object.spec.?ephemeralContainers"}],
        "validations": [demand("variables.all.hasValue()", "no")],
    }
    pattern = {"message": "no", "pattern": {"spec": {"=(ephemeralContainers)": [{"image": "*"}]}}}
    for spec in (variable, {"validations": [pattern]}):
        (found,) = found_in([PODS], spec)
        assert found.path == "spec.matchConstraints.resourceRules[0].resources[0]"


def found_in(rules: list[JSONObject], spec: JSONObject) -> list[Problem]:
    sources = loaded(policy(matchConstraints={"resourceRules": rules}, **spec))
    assert sources.problems == ()
    return in_policies(LintRun(sources), uncovered)

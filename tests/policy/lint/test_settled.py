"""Advice on conditions that kind and operation settle."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.settled import settled
from tests.builders.objects import gadget_definition
from tests.builders.policies import GADGETS, WORKLOADS, map_, policy, rule
from tests.policy_sets import loaded

DELETE = rule(operations=["DELETE"])
NEVER = ("spec.matchConditions[0].expression", "always false for the kinds")
ALWAYS = ("spec.validations[0].expression", "always true for the kinds")
DENIES = ("spec.validations[0].expression", "always false for the kinds")


def told(*rules: JSONObject, kind: Any = policy, **spec: Any) -> list[tuple[str, str]]:
    constraints = {"resourceRules": list(rules or (rule(),))}
    sources = loaded(kind(matchConstraints=constraints, **spec), gadget_definition())
    assert sources.problems == ()
    found = in_policies(LintRun(sources), settled)
    assert all(each.rule == "constant-expression" and each.severity == "advice" for each in found)
    return [
        (each.path, each.message[: len("always false for the kinds")].rstrip()) for each in found
    ]


CONDITIONS: list[tuple[str, list[JSONObject], bool]] = [
    ("request.operation == 'DELETE'", [rule()], True),
    ("request.operation == 'DELETE'", [rule(), DELETE], False),
    ("object == null", [rule()], True),
    ("oldObject != null", [rule(operations=["CREATE"])], True),
    ("oldObject != null && has(object.spec.nodeName)", [rule(operations=["CREATE"])], True),
    ("object.kind == 'Pot'", [rule()], True),
    ("object.kind == 'Deployment'", [rule(), WORKLOADS], False),
    ("object.kind in ['Deployment', 'Job']", [rule()], True),
    ("request.resource.resource == 'deployments'", [rule()], True),
    ("request.resource.group == 'apps'", [rule(resources=["*"])], False),
    ("has(object.spec.template)", [rule()], True),
    ("has(object.spec.template)", [rule(), GADGETS], False),
    ("object.kind == 'Thing'", [rule(apiGroups=["a.b"], resources=["things"])], False),
    ("object.kind == 'Thing'", [rule(apiGroups=["", "a.b"], resources=["pods", "things"])], False),
    ("object.kind == 'Eviction'", [rule(resources=["pods", "pods/eviction"])], False),
    ("has(object.spec.nodeName)", [rule()], False),
    ("false", [rule()], False),
    ("1 == 2", [rule()], False),
]


@pytest.mark.parametrize(("expression", "rules", "never"), CONDITIONS)
def test_conditions(expression: str, rules: list[JSONObject], never: bool) -> None:
    conditions = [{"name": "a", "expression": expression}]
    expected = [NEVER] if never else []
    assert told(*rules, matchConditions=conditions) == expected
    if DELETE not in rules:  # in which there is nothing to mutate
        assert told(*rules, matchConditions=conditions, kind=map_) == expected


VALIDATIONS: list[tuple[str, list[JSONObject], bool]] = [
    ("request.operation != 'DELETE'", [rule()], True),
    ("object.kind == 'Pod'", [rule()], True),
    ("object.kind == 'Pod' || object.metadata.name == 'x'", [rule()], True),
    ("object.kind == 'Pod'", [rule(), WORKLOADS], False),
    ("object.kind != 'Pod' || has(object.spec.nodeName)", [rule()], False),
    ("oldObject == null || object.spec == oldObject.spec", [rule()], False),
    ("true", [rule()], False),
]


@pytest.mark.parametrize(("expression", "rules", "always"), VALIDATIONS)
def test_validations(expression: str, rules: list[JSONObject], always: bool) -> None:
    assert told(*rules, validations=[{"expression": expression}]) == ([ALWAYS] if always else [])


def test_validations_are_about_what_the_conditions_let_through() -> None:
    conditions = [{"name": "a", "expression": "request.operation == 'UPDATE'"}]
    validations = [{"expression": "oldObject != null"}]
    assert told(matchConditions=conditions, validations=validations) == [ALWAYS]
    assert told(validations=validations) == []


def test_patterns_are_left_out() -> None:
    assert told(validations=[{"pattern": {"spec": {"hostNetwork": False}}}]) == []


DENYING = [
    ("request.operation == 'Create'", [rule()]),
    ("object.kind == 'pod'", [rule()]),
    ("request.operation != 'DELETE'", [DELETE]),
]


@pytest.mark.parametrize(("expression", "rules"), DENYING)
def test_validations_that_deny_every_request(expression: str, rules: list[JSONObject]) -> None:
    assert told(*rules, validations=[{"expression": expression}]) == [DENIES]
    assert told(*rules, validations=[{"expression": "false"}]) == []


def test_every_condition_is_reported() -> None:
    conditions = [
        {"name": "a", "expression": "request.operation == 'Create'"},
        {"name": "b", "expression": "has(object.spec.nodeName)"},
        {"name": "c", "expression": "object.kind == 'pod'"},
        {"name": "d", "expression": "object.kind == 'Pod'"},
    ]
    denying = [{"expression": "object.kind == 'pod'"}]  # the policy never acts
    assert told(matchConditions=conditions, validations=denying) == [
        ("spec.matchConditions[0].expression", "always false for the kinds"),
        ("spec.matchConditions[2].expression", "always false for the kinds"),
        ("spec.matchConditions[3].expression", "always true for the kinds"),
    ]


def test_what_follows_is_told() -> None:
    conditions = [{"name": "a", "expression": "object.kind == 'Pod'"}]
    validations = [{"expression": "object.kind == 'pod'"}]
    sources = loaded(policy(matchConditions=conditions, validations=validations))
    condition, validation = in_policies(LintRun(sources), settled)
    assert condition.message.endswith("so it has no effect")
    assert condition.hint == "remove the condition, or correct it or the resourceRules"
    assert validation.message.endswith("so it denies every request")
    assert "write false if this is intended" in validation.hint

"""Quantities compared as strings, and integers or strings compared as only one of them."""

import pytest

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.quantities import compared_quantities
from tests.builders.objects import gadget_definition
from tests.builders.policies import GADGETS, PODS, demand, policy, rule
from tests.policy_sets import loaded

SERVICES = rule("services")
LIMIT = "c.?resources.?limits.?memory.orValue('0')"

# The matched resources, an expression, the rule, part of the hint.
WRONG: list[tuple[JSONObject, str, str, str]] = [
    (PODS, f"object.spec.containers.all(c, {LIMIT} < '1Gi')", "quantity-comparison",
     f"write quantity({LIMIT}).isLessThan(quantity('1Gi'))"),
    (PODS, "object.spec.containers.all(c, '1Gi' >= c.resources.limits.memory)",
     "quantity-comparison",
     "write !quantity('1Gi').isLessThan(quantity(c.resources.limits.memory))"),
    (PODS, "object.spec.containers.all(c, c.resources.limits['cpu'] > '2')", "quantity-comparison",
     "isGreaterThan(quantity('2'))"),
    (PODS, "object.spec.containers.all(c, c.resources.requests.cpu <= c.resources.limits.cpu)",
     "quantity-comparison", "!quantity(c.resources.requests.cpu).isGreaterThan("),
    (PODS, "object.spec.containers.all(c, c.resources.limits.memory == '1024Mi')",
     "quantity-comparison", ".compareTo(quantity('1024Mi')) == 0"),
    (PODS, "object.spec.containers.all(c, c.resources.limits.memory != '1Gi')",
     "quantity-comparison", ".compareTo(quantity('1Gi')) != 0"),
    (PODS, "object.metadata.labels['size'] < '1Gi'", "quantity-comparison", "isLessThan"),
    (rule("persistentvolumeclaims"), "object.spec.resources.requests.storage > '10Gi'",
     "quantity-comparison", "isGreaterThan"),
    (SERVICES, "object.spec.ports.all(p, p.targetPort == '80')", "int-or-string",
     "string(field) == '80'"),
    (SERVICES, "object.spec.ports.all(p, p.targetPort > 1024)", "int-or-string", "type(field) == int"),
    (GADGETS, "object.spec.port < 1024", "int-or-string", "type(field) == int"),
]  # fmt: skip
RIGHT: list[tuple[JSONObject, str]] = [
    (PODS, f"object.spec.containers.all(c, quantity({LIMIT}).isLessThan(quantity('1Gi')))"),
    (PODS, f"object.spec.containers.all(c, {LIMIT} != '0')"),  # the default
    (PODS, "object.spec.containers.all(c, c.?resources.?limits.?memory.orValue('') != '')"),
    (PODS, "object.spec.containers.all(c, c.resources.requests == c.resources.limits)"),
    (PODS, "object.metadata.name < 'm'"),
    (PODS, "quantity(object.spec.x) < '1Gi'"),  # does not compile
    (PODS, "object.spec.priority < 1000"),
    (SERVICES, "object.spec.ports.all(p, p.targetPort == 80 || p.targetPort == 'http')"),
    (SERVICES, "object.spec.ports.all(p, string(p.targetPort) == '80')"),
    (SERVICES, "object.spec.ports.all(p, type(p.targetPort) != int || p.targetPort > 1024)"),
    (SERVICES, "object.spec.ports.all(p, p.port > 1024)"),
]


@pytest.mark.parametrize(("matched", "expression", "rule", "hint"), WRONG)
def test_values_compared_in_the_wrong_form_are_advice(
    matched: JSONObject, expression: str, rule: str, hint: str
) -> None:
    (found,) = found_in(matched, expression)
    assert (found.rule, found.severity) == (rule, "advice")
    assert hint in found.hint


@pytest.mark.parametrize(("matched", "expression"), RIGHT)
def test_other_comparisons_are_right(matched: JSONObject, expression: str) -> None:
    assert found_in(matched, expression) == []


def found_in(matched: JSONObject, expression: str) -> list[Problem]:
    match = {"resourceRules": [matched]}
    sources = loaded(
        policy(matchConstraints=match, validations=[demand(expression, "no")]), gadget_definition()
    )
    assert sources.problems == ()
    return list(in_policies(LintRun(sources), compared_quantities))

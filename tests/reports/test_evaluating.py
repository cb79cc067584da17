"""What is reported of an object: findings, errors, exceptions, and the policies that passed."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from policyd.reports.evaluating import ObjectEvaluator, ObjectResults
from policyd.reports.policies import facts_of
from tests.builders.objects import config_map, pod
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule, vap, vap_binding
from tests.policy_sets import compiled, loaded

FALSE, TRUE = demand("false", "no"), demand("true", "no")
BROKEN = demand("object.spec.nowhere == 1", "no")


def evaluated(*documents: JSONObject, obj: JSONObject | None = None) -> ObjectResults:
    """The results of a Pod for these policies."""
    policies, sources = compiled(*documents), loaded(*documents)
    evaluator = ObjectEvaluator(
        policies,
        facts_of(sources, policies.policies),
        authorizer=None,
        namespaces=policies.namespaces,
        params=policies.params,
    )
    keys = frozenset(each.sort_key for each in policies.policies)
    return evaluator.evaluate(build_review(obj or pod(), operation="CREATE"), keys)


def told(found: ObjectResults) -> list[tuple[str, str, str]]:
    return [(each.policy[0], each.rule, each.result) for each in found.results]


def exempting(**fields: Any) -> JSONObject:
    return {"name": "legacy", "reason": "ticket 4711", **fields}


def test_each_validation_that_fails_is_a_result() -> None:
    two = policy("two", validations=[{**FALSE, "name": "a"}, TRUE, FALSE])
    found = evaluated(two, policy("fine", validations=[TRUE]))
    assert told(found) == [("two", "a", "fail"), ("two", "validations[2]", "fail")]
    assert found.evaluated == {("two", "Policy"), ("fine", "Policy")}


def test_what_does_not_match_or_is_not_bound_is_not_evaluated() -> None:
    other = policy("other", CONFIG_MAPS, validations=[FALSE])
    elsewhere = {"resourceRules": [CONFIG_MAPS]}
    unbound = vap("unbound", rule("pods"), validations=[FALSE])
    binding = vap_binding("unbound", policyName="unbound", matchResources=elsewhere)
    assert evaluated(other, unbound, binding) == ObjectResults((), frozenset())


def test_a_policy_is_bound_twice_and_reported_under_both() -> None:
    bindings = [
        vap_binding(name, policyName="no", validationActions=[action])
        for name, action in (("hard", "Deny"), ("soft", "Warn"))
    ]
    found = evaluated(vap("no", rule("pods"), validations=[FALSE]), *bindings)
    assert [(each.result, each.property_of("binding")) for each in found.results] == [
        ("fail", "hard"), ("warn", "soft"),
    ]  # fmt: skip


@pytest.mark.parametrize("fail", ["Fail", "Ignore"])
def test_errors_are_reported_whatever_the_failure_policy(fail: str) -> None:
    found = evaluated(policy("broken", validations=[BROKEN], failurePolicy=fail))
    [result] = found.results
    assert (result.result, result.rule) == ("error", "")
    assert "nowhere" in result.message
    assert result.property_of("failurePolicy") == ("Ignore" if fail == "Ignore" else "")


def test_an_exception_that_lifts_a_policy_is_a_skip() -> None:
    found = evaluated(policy("p", validations=[FALSE], exceptions=[exempting()]))
    assert told(found) == [("p", "", "skip")]
    assert found.results[0].property_of("reason") == "ticket 4711"
    assert found.evaluated == {("p", "Policy")}


def test_an_exception_of_one_validation_leaves_the_others() -> None:
    validations = [{**FALSE, "name": "a"}, {**FALSE, "name": "b"}]
    exceptions = [exempting(validations=["a"])]
    found = evaluated(policy("p", validations=validations, exceptions=exceptions))
    assert told(found) == [("p", "b", "fail"), ("p", "a", "skip")]


def test_an_exception_that_nothing_needs_is_not_reported() -> None:
    exceptions = [exempting(validations=["a"])]
    fine = policy("p", validations=[{**TRUE, "name": "a"}], exceptions=exceptions)
    assert evaluated(fine) == ObjectResults((), frozenset({("p", "Policy")}))


def test_messages_about_secrets_are_withheld() -> None:
    quoting = {"expression": "false", "messageExpression": "string(object.stringData.password)"}
    secret = {**config_map("s"), "kind": "Secret", "stringData": {"password": "hunter2"}}
    found = evaluated(policy("p", rule("secrets"), validations=[quoting]), obj=secret)
    assert [each.result for each in found.results] == ["fail"]
    assert "hunter2" not in str(found)

"""What is reported of an object: findings, errors, exceptions, and the policies that passed."""

from typing import Any

import pytest

from policyd.admission.applicable import LookupSources
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from policyd.reports.evaluating import ObjectEvaluator, ObjectResults
from policyd.reports.results import facts_of
from tests.builders.objects import config_map, pod
from tests.builders.policies import (
    CONFIG_MAPS,
    demand,
    overlay,
    policy,
    policy_exception,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled, loaded

FALSE, TRUE = demand("false", "no"), demand("true", "no")
BROKEN = demand("object.spec.nowhere == 1", "no")
ADDS_A_LABEL = overlay({"metadata": {"labels": {"a": "b"}}})


def evaluated(*documents: JSONObject, obj: JSONObject | None = None) -> ObjectResults:
    """The results of a Pod for these policies."""
    policies, sources = compiled(*documents), loaded(*documents)
    evaluator = ObjectEvaluator(policies, facts_of(sources, policies.policies), LookupSources())
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


@pytest.mark.parametrize("fail", ["Fail", "Ignore"])
@pytest.mark.parametrize(
    ("fields", "without"),
    [
        ({"validations": [FALSE]}, ["fail"]),
        ({"validations": [FALSE, TRUE, FALSE]}, ["fail", "fail"]),
        ({"validations": [FALSE], "validationActions": ["Warn"]}, ["warn"]),
        ({"validations": [FALSE], "rollout": {"enforce": {}}}, ["fail"]),
        ({"validations": [BROKEN]}, ["error"]),
        ({"validations": [TRUE]}, []),
        ({"validations": [TRUE, TRUE], "rollout": {"enforce": {}}}, []),
        ({"validations": [FALSE], "matchConditions": [{"name": "no", "expression": "false"}]}, []),
        ({"validations": [TRUE], "mutations": [ADDS_A_LABEL]}, []),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_an_exception_is_a_skip_only_of_what_would_violate_the_policy(
    fields: JSONObject, without: list[str], fail: str, own: bool
) -> None:
    bare = {"failurePolicy": fail, **fields}
    found = evaluated(policy("p", **bare))
    assert [each.result for each in found.results] == without
    exceptions = [exempting()] if own else []
    documents = [] if own else [policy_exception("legacy", "p")]
    exempted = evaluated(policy("p", **bare, exceptions=exceptions), *documents)
    assert [each.result for each in exempted.results] == ["skip"] * len(without)
    assert exempted.evaluated == found.evaluated == {("p", "Policy")}
    for before, after in zip(found.results, exempted.results, strict=True):
        assert (after.rule, after.message) == (before.rule, before.message)
        assert after.property_of("exception") == "legacy"
        assert after.property_of("reason") == "ticket 4711"


def test_a_param_that_only_an_exempted_object_would_need_is_no_error() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    needs = {"paramKind": kind, "paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}}
    found = evaluated(policy("p", validations=[TRUE], exceptions=[exempting()], **needs))
    assert told(found) == [("p", "", "skip")]
    assert "params" in found.results[0].message


def test_an_exception_of_one_validation_leaves_the_others() -> None:
    validations = [{**FALSE, "name": "a"}, {**FALSE, "name": "b"}]
    exceptions = [exempting(validations=["a"])]
    found = evaluated(policy("p", validations=validations, exceptions=exceptions))
    assert told(found) == [("p", "b", "fail"), ("p", "a", "skip")]


def test_only_the_validations_that_fail_are_skipped() -> None:
    validations = [{**FALSE, "name": "a"}, {**TRUE, "name": "b"}]
    exceptions = [exempting(validations=["a", "b"])]
    found = evaluated(policy("p", validations=validations, exceptions=exceptions))
    assert told(found) == [("p", "a", "skip")]


def test_the_exception_that_applies_first_is_the_one_that_is_named() -> None:
    validations = [{**FALSE, "name": "a"}, {**FALSE, "name": "b"}]
    exceptions = [
        {**exempting(validations=["a"]), "name": "one"},
        {**exempting(validations=["a", "b"]), "name": "both"},
    ]
    found = evaluated(policy("p", validations=validations, exceptions=exceptions))
    assert [(each.rule, each.property_of("exception")) for each in found.results] == [
        ("a", "one"), ("b", "both"),
    ]  # fmt: skip


def test_an_exception_that_nothing_needs_is_not_reported() -> None:
    exceptions = [exempting(validations=["a"])]
    fine = policy("p", validations=[{**TRUE, "name": "a"}], exceptions=exceptions)
    assert evaluated(fine) == ObjectResults((), frozenset({("p", "Policy")}))


def test_messages_about_secrets_are_withheld() -> None:
    quoting = {"expression": "false", "messageExpression": "string(object.stringData.password)"}
    secret = {**config_map("s"), "kind": "Secret", "stringData": {"password": "hunter2"}}
    found = evaluated(policy("p", rule("secrets"), validations=[quoting]), obj=secret)
    assert [each.result for each in found.results] == ["fail"]
    assert "hunter2" not in str(found) and "withheld" in found.results[0].message

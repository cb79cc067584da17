"""Who answers ``authorizer``: the table, the way of the answers into policies, and suites."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from policyd.admission.lookups.authorizer import (
    AccessDecision,
    Attributes,
    AuthorizerRule,
    StaticAuthorizer,
)
from policyd.json_types import JSONObject
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.compile import compiler
from policyd.policy.model.base import ModelError
from policyd.policy.source import loader
from policyd.policy.suite import runner
from tests.builders.policies import policy
from tests.policy_sets import POD, ask, load

GET_PODS = Attributes(user="bob", verb="get", groups=("a", "b"), resource="pods", namespace="shop")
CHECK = "authorizer.requestResource.check('create').allowed()"


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        ({}, True),
        (
            {"user": "bob", "verb": "get", "group": "", "resource": "pods", "namespace": "shop"},
            True,
        ),
        ({"user": "ann"}, False),
        ({"groups": ("x", "b")}, True),
        ({"groups": ()}, False),
        ({"user": "bob", "groups": ("x",)}, False),
        ({"verb": "list"}, False),
        ({"group": "apps"}, False),
        ({"namespace": ""}, False),
        ({"name": "web"}, False),
        ({"name": ""}, True),
        ({"path": "/healthz"}, False),
    ],
)
def test_a_rule_fits_what_it_does_not_exclude(rule: JSONObject, fits: bool) -> None:
    assert StaticAuthorizer([AuthorizerRule(**rule)]).check(GET_PODS).allowed is fits


def test_the_rule_of_a_resource_is_not_for_its_subresources() -> None:
    logs = GET_PODS._replace(subresource="log")
    rules: list[tuple[JSONObject, bool]] = [
        ({"resource": "pods"}, False),
        ({"resource": "pods", "subresource": "log"}, True),
        ({"resource": "pods", "subresource": ""}, False),
        ({"user": "bob"}, True),
    ]
    for rule, fits in rules:
        assert StaticAuthorizer([AuthorizerRule(**rule)]).check(logs).allowed is fits


def test_a_rule_about_resources_is_not_for_paths() -> None:
    path = Attributes(user="bob", verb="get", path="/healthz")
    rules: list[tuple[JSONObject, bool]] = [
        ({"path": "/healthz"}, True),
        ({"verb": "get"}, True),
        ({"group": ""}, False),
        ({"namespace": ""}, False),
    ]
    for rule, fits in rules:
        assert StaticAuthorizer([AuthorizerRule(**rule)]).check(path).allowed is fits
    with pytest.raises(ModelError, match="path excludes group"):
        AuthorizerRule(path="/healthz", namespace="")


def test_the_first_rule_that_fits_decides() -> None:
    rules = [
        AuthorizerRule(verb="delete", allowed=False, reason="never"),
        AuthorizerRule(verb="get", error="no answer"),
        AuthorizerRule(reason="else"),
    ]
    table = StaticAuthorizer(rules)
    answers = [table.check(GET_PODS._replace(verb=verb)) for verb in ("delete", "get", "list")]
    assert answers == [
        AccessDecision(False, "never"),
        AccessDecision(False, "", "no answer"),
        AccessDecision(True, "else"),
    ]
    assert StaticAuthorizer(()).check(GET_PODS) == AccessDecision(False)


def allowing(**rule: Any) -> StaticAuthorizer:
    return StaticAuthorizer([AuthorizerRule(**rule)])


def test_the_request_s_own_resource_and_user_are_asked_for() -> None:
    policies = load(policy(validations=[{"expression": CHECK}]))
    bob: JSONObject = {"userInfo": {"username": "bob"}}
    exactly: JSONObject = {
        "user": "bob",
        "verb": "create",
        "group": "",
        "resource": "pods",
        "name": "web",
    }
    for rule, allowed in (
        (exactly, True),
        ({**exactly, "namespace": "shop"}, True),
        ({**exactly, "name": "other"}, False),
    ):
        assert ask(policies, authorizer=allowing(**rule), **bob)["allowed"] is allowed


def test_of_an_equivalent_resource_the_one_that_was_sent_is_asked_for() -> None:
    policies = load(policy(validations=[{"expression": CHECK}]))
    sent = {"group": "old.example.com", "version": "v1", "resource": "oldpods"}
    request: JSONObject = {"requestResource": sent, "requestSubResource": ""}
    old = allowing(group="old.example.com", resource="oldpods")
    assert ask(policies, authorizer=old, **request)["allowed"] is True
    assert ask(policies, authorizer=allowing(group=""), **request)["allowed"] is False


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_without_a_cluster_a_check_is_an_error(failure_policy: str, allowed: bool) -> None:
    spec: JSONObject = {"validations": [{"expression": CHECK}], "failurePolicy": failure_policy}
    answer = ask(load(policy(**spec)), userInfo={"username": "bob"})
    assert answer["allowed"] is allowed
    if not allowed:
        assert answer["status"]["message"] == (
            f"policy 'p' denied request: expression '{CHECK}' resulted in error: authorizer: there is"
            " no cluster to ask whether 'bob' may create pods/web in namespace shop"
        )


def test_matchconditions_variables_annotations_and_mutations_may_ask() -> None:
    check = "authorizer.group('').resource('secrets').check('get')"
    label = "[JSONPatch{op: 'add', path: '/metadata/labels/who', value: variables.who}]"
    policies = load(
        policy(
            matchConditions=[{"name": "c", "expression": f"{check}.allowed()"}],
            variables=[{"name": "who", "expression": f"{check}.reason()"}],
            validations=[{"expression": "variables.who == ''"}],
            auditAnnotations=[{"key": "why", "valueExpression": f"{check}.reason()"}],
            mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": label}}],
        )
    )
    secrets = allowing(resource="secrets", reason="trusted")
    denied = ask(policies, authorizer=secrets)
    assert denied["allowed"] is False
    assert denied["auditAnnotations"]["p.why"] == "trusted"
    assert "patch" in ask(policies, webhook="mutate", authorizer=secrets)
    assert ask(policies, authorizer=allowing(resource="pods"))["allowed"] is True


def test_messages_may_not_ask() -> None:
    message = "authorizer.path('/').check('get').reason()"
    text = json.dumps(policy(validations=[{"expression": "false", "messageExpression": message}]))
    problems = compiler.check(loader.load_text(text))
    assert "undeclared reference to 'authorizer'" in str(problems[0])


SUITE: JSONObject = {
    "apiVersion": "policyd.dev/v1",
    "kind": "PolicyTest",
    "metadata": {"name": "s"},
    "authorizer": [{"user": "bob", "verb": "create", "resource": "pods"}],
    "cases": [
        {
            "name": f"{user} in {place}",
            "request": {"object": POD, "userInfo": {"username": user}, **more},
            "expect": {"allowed": user == "bob"},
        }
        for user in ("ann", "bob")
        for place, more in (("shop", {}), ("a labelled one", {"namespaceLabels": {"a": "b"}}))
    ],
}


def results(document: Mapping[str, Any]) -> list[bool]:
    text = (
        json.dumps(policy(validations=[{"expression": CHECK}])) + "\n---\n" + json.dumps(document)
    )
    sources = loader.load_text(text)
    (found,) = sources.of_kind("PolicyTest")
    judge = SuitePolicies.of(found, compiler.compile_strict(sources))
    ran = runner.run(found, judge.admit, within=judge.admitting)
    return [result.passed for result in ran]


def test_a_suite_says_what_the_authorizer_answers() -> None:
    assert results(SUITE) == [True, True, True, True]
    assert results({**SUITE, "authorizer": []}) == [True, True, False, False]


def test_a_rule_of_a_suite_is_checked() -> None:
    bad = {**SUITE, "authorizer": [{"path": "/x", "resource": "pods"}, {"verbs": ["get"]}]}
    problems = [str(each) for each in loader.load_text(json.dumps(bad)).problems]
    assert len(problems) == 2
    assert "authorizer[0]" in problems[0]
    assert "authorizer[1].verbs" in problems[1]

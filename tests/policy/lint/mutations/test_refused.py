"""Advice on mutations whose change of an existing Pod the API server refuses."""

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.mutations.refused import refused
from policyd.policy.lint.run import LintRun
from tests.builders.policies import (
    DEPLOYMENTS,
    EVERYTHING,
    PODS,
    VALIDATION,
    apply_configuration,
    json_patch,
    overlay,
    policy,
    rule,
)
from tests.policy_sets import loaded

CREATED = rule("pods", operations=["CREATE"])
PROFILE = overlay({"spec": {"securityContext": {"+(seccompProfile)": {"type": "RuntimeDefault"}}}})
IMAGES = overlay({"spec": {"containers": [{"(name)": "*", "image": "x"}]}})
LABEL = overlay({"metadata": {"labels": {"a": "b"}}})


def told(*rules: JSONObject, **spec: JSON) -> list[tuple[str, str, str]]:
    """Path, message and hint of each advice."""
    found = list(in_policies(LintRun(loaded(policy("p", *rules, **spec))), refused))
    assert all(each.rule == "refused-write" and each.severity == "advice" for each in found)
    assert all(each.line and each.excerpt for each in found)
    return [(each.path, each.message, each.hint) for each in found]


def test_the_advice_names_the_first_write() -> None:
    later = overlay({"spec": {"hostNetwork": False}})
    assert told(PODS, mutations=[LABEL, PROFILE, later]) == [
        (
            "spec.mutations[1].overlay.spec.securityContext[+(seccompProfile)].type",
            "the API server refuses updates that change spec.securityContext.seccompProfile.type of "
            "an existing Pod: they fail unless the Pod has the value already",
            "match only CREATE for pods",
        )
    ]


CONDITION = "the match condition request.kind.kind != 'Pod' || request.operation == 'CREATE'"


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ({}, "match only CREATE for pods"),
        ({"podControllers": True}, f"add {CONDITION}"),
        (
            {"validations": [VALIDATION]},
            "move the mutations to a policy that matches only CREATE for pods",
        ),
        (
            {"validations": [VALIDATION], "podControllers": True},
            f"move the mutations to a policy with {CONDITION}",
        ),
    ],
)
def test_updates_of_templates_are_still_mutated_and_updates_of_pods_still_validated(
    spec: JSONObject, hint: str
) -> None:
    ((_, _, found),) = told(PODS, mutations=[PROFILE], **spec)
    assert found == hint


@pytest.mark.parametrize(
    "mutation",
    [
        json_patch("[JSONPatch{op: 'add', path: '/spec/hostNetwork', value: false}]"),
        json_patch("[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'a'}}]"),
        json_patch("[JSONPatch{op: 'remove', path: '/spec/containers/0/resources'}]"),
        apply_configuration("Object{spec: Object.spec{runtimeClassName: 'x'}}"),
        overlay({"spec": {"nodeSelector": {"a": "b"}}}),
        overlay({"spec": {"initContainers": [{"(name)": "*", "image": "x", "stdin": True}]}}),
    ],
)
def test_the_rest_of_the_spec_may_not_change(mutation: JSONObject) -> None:
    assert told(PODS, mutations=[mutation])


@pytest.mark.parametrize(
    "mutation",
    [
        LABEL,
        IMAGES,
        overlay({"spec": {"initContainers": [{"(name)": "*", "image": "x"}]}}),
        overlay({"spec": {"activeDeadlineSeconds": 5}}),
        overlay({"spec": {"tolerations": [{"$patch": "append"}, {"key": "a"}]}}),
        json_patch("[JSONPatch{op: 'add', path: '/spec/tolerations/-', value: {'key': 'a'}}]"),
        json_patch("[JSONPatch{op: 'replace', path: '/spec/containers/0/image', value: 'x'}]"),
        json_patch("[JSONPatch{op: 'test', path: '/spec/hostNetwork', value: false}]"),
        json_patch(
            "['containers', 'initContainers'].map(each, JSONPatch{"
            "op: 'replace', path: '/spec/' + each + '/0/image', value: 'x'})"
        ),
        json_patch("[JSONPatch{op: 'remove', path: '/spec/schedulingGates/0'}]"),
        apply_configuration("Object{spec: variables.spec}"),
    ],
)
def test_what_may_change(mutation: JSONObject) -> None:
    assert not told(PODS, mutations=[mutation])


def test_what_pods_do_not_have_is_written_to_other_objects() -> None:
    template = overlay({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})
    assert not told(PODS, DEPLOYMENTS, mutations=[template])


def test_debug_containers_are_written_when_they_are_added() -> None:
    debug = overlay({"spec": {"ephemeralContainers": [{"(name)": "*", "image": "x"}]}})
    assert told(PODS, mutations=[debug])
    assert not told(rule("pods", "pods/ephemeralcontainers"), mutations=[IMAGES, debug])
    assert not told(PODS, rule("pods/*", operations=["UPDATE"]), mutations=[IMAGES, debug])
    assert told(rule("pods", "pods/ephemeralcontainers"), mutations=[debug, PROFILE])


def test_rules_for_pods_and_their_subresources() -> None:
    assert told(rule("pods/*"), mutations=[PROFILE])


@pytest.mark.parametrize(
    ("excluded", "silent"),
    [
        (rule("pods", operations=["UPDATE"]), True),
        (rule("*", group="*", operations=["*"]), True),
        (rule("pods", operations=["UPDATE"], resourceNames=["one"]), False),
        (rule("pods", operations=["CREATE"]), False),
        (rule("pods/status", operations=["UPDATE"]), False),
    ],
)
def test_updates_that_are_excluded(excluded: JSONObject, silent: bool) -> None:
    found = told(PODS, match={"excludeResourceRules": [excluded]}, mutations=[PROFILE])
    assert bool(found) != silent


@pytest.mark.parametrize(
    "rules",
    [
        (CREATED,),
        (DEPLOYMENTS,),
        (EVERYTHING,),
        (rule("pods/ephemeralcontainers"),),
        (rule("pods", group="metrics.k8s.io"),),
        (CREATED, DEPLOYMENTS),
    ],
)
def test_rules_without_updates_of_pods(rules: tuple[JSONObject, ...]) -> None:
    assert not told(*rules, mutations=[PROFILE])


@pytest.mark.parametrize(
    "expression",
    [
        "request.operation == 'CREATE'",
        "oldObject == null",
        "request.subResource == 'ephemeralcontainers'",
        "has(object.spec.schedulingGates)",
        "!has(object.metadata.uid)",
    ],
)
def test_policies_that_distinguish_updates(expression: str) -> None:
    condition: JSON = [{"name": "new", "expression": expression}]
    found = told(PODS, mutations=[PROFILE], matchConditions=condition)
    assert bool(found) == ("uid" in expression)

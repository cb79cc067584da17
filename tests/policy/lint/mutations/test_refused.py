"""Advice on mutations whose change of an existing Pod the API server refuses."""

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.lint.mutations.refused import refused
from policyd.policy.lint.run import LintRun
from tests.builders.policies import (
    DEPLOYMENTS,
    EVERYTHING,
    PODS,
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
    found = list(refused(LintRun(loaded(policy("p", *rules, **spec)))))
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
            "match only CREATE",
        )
    ]


def test_templates_are_still_updated() -> None:
    ((_, _, hint),) = told(PODS, podControllers=True, mutations=[PROFILE])
    assert hint == (
        "add the match condition request.kind.kind != 'Pod' || request.operation == 'CREATE'"
    )


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
        apply_configuration("Object{spec: variables.spec}"),
    ],
)
def test_what_may_change(mutation: JSONObject) -> None:
    assert not told(PODS, mutations=[mutation])


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
    ["request.operation == 'CREATE'", "oldObject == null", "!has(object.metadata.uid)"],
)
def test_policies_that_distinguish_updates(expression: str) -> None:
    condition: JSON = [{"name": "new", "expression": expression}]
    found = told(PODS, mutations=[PROFILE], matchConditions=condition)
    assert bool(found) == ("uid" in expression)

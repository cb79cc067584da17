"""Actions, failure policies and annotations of a policy of Kyverno."""

from typing import Any

import pytest

import policyd
from policyd.importers.naming import named
from policyd.json_types import JSON, JSONObject
from policyd.policy.suite.reviews import namespace
from tests.importers.kyverno.classic import (
    allows,
    cluster_policy,
    imported,
    matching,
    pod_of,
    reason,
    resources,
    rule_of,
    spec_of,
)

DENY = rule_of({"message": "no", "deny": {}})


def actions(**spec: JSON) -> list[str]:
    found: list[str] = spec_of(cluster_policy(DENY, **spec))["validationActions"]
    return found


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"validationFailureAction": "Enforce"}, ["Deny"]),
        ({"validationFailureAction": "enforce", "emitWarning": True}, ["Deny"]),
        ({"validationFailureAction": "Audit"}, ["Audit"]),
        ({"validationFailureAction": "audit", "emitWarning": True}, ["Warn", "Audit"]),
        ({"validationFailureAction": None}, ["Audit"]),
    ],
)
def test_the_action_of_a_policy(spec: dict[str, JSON], expected: list[str]) -> None:
    assert actions(**spec) == expected


def test_the_action_of_a_rule_wins() -> None:
    own = rule_of({"message": "no", "deny": {}, "failureAction": "Audit"})
    assert spec_of(cluster_policy(own))["validationActions"] == ["Audit"]


def in_namespace(name: str) -> Any:
    return {**pod_of(), "metadata": {"name": "web", "namespace": name}}


def test_overrides_by_namespace() -> None:
    overrides = [
        {"action": "Enforce", "namespaces": ["prod-eu"]},
        {"action": "Audit", "namespaces": ["prod-*"]},
        {"action": "Enforce", "namespaces": ["staging", "prod-eu"]},
    ]
    policy = cluster_policy(
        DENY, validationFailureAction="Audit", validationFailureActionOverrides=overrides
    )
    assert [each.name for each in imported(policy).documents] == ["p", "p-enforced"]
    for name, allowed in (
        ("prod-eu", False), ("prod-us", True), ("staging", False), ("other", True),
    ):  # fmt: skip
        assert allows(policy, in_namespace(name)) is allowed, name


def decided(policy: JSONObject, name: str, **labels: str) -> bool:
    [found] = named([imported(policy)])
    documents = [each.raw for each in found.documents]
    policies = policyd.PolicySet.from_documents(*documents, namespace(name, labels))
    review = policyd.build_review(in_namespace(name), defaults=False)
    return policies.evaluate(review, "validate").allowed


PROD = {"matchLabels": {"env": "prod"}}
TEAMS = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]},
                              {"key": "draft", "operator": "DoesNotExist"}]}  # fmt: skip


def test_overrides_by_labels() -> None:
    overrides = [
        {"action": "Audit", "namespaceSelector": TEAMS},
        {"action": "Enforce", "namespaceSelector": PROD},
    ]
    policy = cluster_policy(
        DENY, validationFailureAction="Audit", validationFailureActionOverrides=overrides
    )
    names = [each.name for each in imported(policy).documents]
    assert set(names) == {"p", "p-enforced"}
    for labels, allowed in (
        ({}, True),
        ({"env": "prod"}, False),
        ({"env": "test"}, True),
        ({"env": "prod", "team": "a"}, True),
        ({"env": "prod", "team": "c"}, False),
        ({"env": "prod", "team": "b", "draft": ""}, False),
    ):
        assert decided(policy, "shop", **labels) is allowed, labels


@pytest.mark.parametrize(
    ("action", "admitted"),
    [("Enforce", [True, True, True, False]), ("Audit", [False, True, True, True])],
)
def test_an_override_by_name_and_labels(action: str, admitted: list[bool]) -> None:
    # Neither, one of them, and both.
    override = {"action": action, "namespaces": ["a"], "namespaceSelector": PROD}
    default = "Audit" if action == "Enforce" else "Enforce"
    own = {"message": "no", "deny": {}, "failureAction": default}
    policy = cluster_policy(rule_of({**own, "failureActionOverrides": [override]}))
    found = [
        decided(policy, "b"),
        decided(policy, "a"),
        decided(policy, "b", env="prod"),
        decided(policy, "a", env="prod"),
    ]
    assert found == admitted


def test_an_override_of_all_namespaces_ends_the_list() -> None:
    overrides: list[JSON] = [
        {"action": "Audit", "namespaces": ["a"]},
        {"action": "Enforce"},
        {"action": "Audit", "namespaceSelector": PROD},
    ]
    policy = cluster_policy(
        DENY, validationFailureAction="Audit", validationFailureActionOverrides=overrides
    )
    assert [decided(policy, "a"), decided(policy, "b", env="prod")] == [True, False]
    assert len(imported(policy).documents) == 2


@pytest.mark.parametrize(
    ("own", "override", "allowed"),
    [
        ("Audit", "Enforce", True),
        ("Enforce", "Audit", True),
        ("Enforce", "Enforce", False),
    ],
)
def test_overrides_of_a_policy_make_the_action_of_a_rule_weaker(
    own: str, override: str, allowed: bool
) -> None:
    rule = rule_of({"message": "no", "deny": {}, "failureAction": own})
    overrides = [{"action": override, "namespaces": ["a"]}]
    policy = cluster_policy(rule, validationFailureActionOverrides=overrides)
    assert decided(policy, "a") is allowed
    assert decided(policy, "b") is (own == "Audit")


def test_overrides_by_labels_join_the_selector_of_the_rule() -> None:
    match = {"any": [resources(namespaceSelector={"matchLabels": {"team": "a"}})]}
    override = {"action": "Audit", "namespaceSelector": PROD}
    policy = cluster_policy(matching(match), validationFailureActionOverrides=[override])
    assert decided(policy, "b", team="a") is False
    assert decided(policy, "b", team="a", env="prod") is True
    assert decided(policy, "b") is True


def test_overrides_by_labels_of_cluster_scoped_kinds_are_refused() -> None:
    override = {"action": "Audit", "namespaceSelector": PROD}
    rule = rule_of({"message": "no", "deny": {}}, "Namespace")
    found = reason(cluster_policy(rule, validationFailureActionOverrides=[override]))
    assert found.startswith("spec.validationFailureActionOverrides[0].namespaceSelector:")


def test_a_rule_that_changes_objects_has_no_actions() -> None:
    override = {"action": "Audit", "namespaces": ["a"]}
    rule = {**DENY, "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}}
    del rule["validate"]
    found = imported(cluster_policy(rule, validationFailureActionOverrides=[override]))
    assert [each.name for each in found.documents] == ["p"]


def test_fields_of_the_webhook() -> None:
    condition = {"name": "not-bob", "expression": "request.userInfo.username != 'bob'"}
    webhook = {"failurePolicy": "Ignore", "timeoutSeconds": 5, "matchConditions": [condition]}
    spec = spec_of(cluster_policy(DENY, webhookConfiguration=webhook))
    assert (spec["failurePolicy"], spec["timeoutSeconds"]) == ("Ignore", 5)
    assert spec["matchConditions"] == [condition]
    spec = spec_of(cluster_policy(DENY, failurePolicy="Ignore", webhookTimeoutSeconds=3))
    assert (spec["failurePolicy"], spec["timeoutSeconds"]) == ("Ignore", 3)


def test_annotations_and_description() -> None:
    annotations = {
        "policies.kyverno.io/title": "No Latest",
        "policies.kyverno.io/category": "Best Practices",
        "policies.kyverno.io/severity": "medium",
        "policies.kyverno.io/description": "Tags\nmatter.",
        "policies.kyverno.io/minversion": "1.6.0",
        "team": "a",
    }
    [document] = imported(cluster_policy(DENY, annotations=annotations)).documents
    assert document.raw["metadata"]["annotations"] == {
        "policyd.dev/category": "Best Practices",
        "policyd.dev/severity": "medium",
        "policies.kyverno.io/title": "No Latest",
        "team": "a",
    }
    assert document.raw["spec"]["description"] == "Tags\nmatter."


def test_each_rule_becomes_a_policy() -> None:
    first, second = ({**DENY, "name": name} for name in ("Check Team", "check-owner"))
    found = imported(cluster_policy(first, second))
    assert [each.name for each in found.documents] == ["p-check-team", "p-check-owner"]
    assert found.rules["Check Team"] == ("p-check-team",)


def test_the_reasons_of_all_rules_are_reported() -> None:
    found = imported(cluster_policy({**DENY, "generate": {"kind": "Secret"}}, {**DENY, "color": 1}))
    assert [each.path for each in found.reasons] == [
        "spec.rules[0].generate",
        "spec.rules[1].color",
    ]
    assert not found.documents


@pytest.mark.parametrize("written", [True, False])
def test_a_file_is_imported_as_the_object_to_which_a_cluster_adds_defaults(written: bool) -> None:
    validate: JSONObject = {"message": "no", "deny": {}}
    file = imported(cluster_policy(rule_of(validate)))
    found = imported(cluster_policy(rule_of({**validate, "allowExistingViolations": written})))
    assert (found.documents, found.remarks) == (file.documents, ())


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"admission": False}, "spec.admission"),
        ({"color": "red"}, "spec.color"),
        ({"webhookConfiguration": {"color": "red"}}, "spec.webhookConfiguration.color"),
        (
            {
                "validationFailureActionOverrides": [
                    {"action": "Audit", "namespaceSelector": {"a": 1}}
                ]
            },
            "spec.validationFailureActionOverrides[0].namespaceSelector.a",
        ),
        ({"validationFailureAction": "Ask"}, "spec.rules[0]"),
    ],
)
def test_what_is_not_understood_is_refused(spec: dict[str, JSON], place: str) -> None:
    assert reason(cluster_policy(DENY, **spec)).startswith(f"{place}:")


def test_a_policy_without_rules() -> None:
    assert "no rules" in reason(cluster_policy())

"""Policies with a rollout: where they are enforced, and what they do elsewhere."""

from typing import Any

import pytest

from policyd.admission.engine import Webhook
from policyd.json_types import JSONObject
from policyd.policy.compile.rollouts import number_of
from tests.admission.staged import IN_SHOP, reviewed
from tests.builders.objects import config_map, deployment
from tests.builders.policies import (
    DEPLOYMENTS,
    add_label,
    demand,
    denying,
    json_patch,
    labelling,
    map_,
    map_binding,
    overlay,
    policy,
    rollout,
    rule,
    vap,
    vap_binding,
)

SHADOW: JSONObject = {"enforce": {}}
WARNING: JSONObject = {"enforce": {}, "otherwise": ["Warn"]}
EMPTY = "enforce is empty"
RBAC = "rbac.authorization.k8s.io/v1"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
CANARY = {**NAMESPACE, "metadata": {"name": "shop", "labels": {"stage": "canary"}}}
SELECTED: JSONObject = {"enforce": {"namespaceSelector": {"matchLabels": {"stage": "canary"}}}}
PAST, FUTURE = "2020-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00"
UNDECODABLE = json_patch("[JSONPatch{op: 'add', path: '/metadata/labelz', value: {'a': 'b'}}]")


def enforced(rollout: JSONObject, *documents: JSONObject, **more: Any) -> bool:
    """Whether a policy that denies everything denies with this rollout."""
    return not reviewed(denying(rollout=rollout), *documents, **more).allowed


def test_a_shadow_denies_nothing_and_reports_everything() -> None:
    got = reviewed(denying(rollout=SHADOW))
    assert got.allowed
    annotations = got.response["auditAnnotations"]
    assert annotations["rollout.p"] == "would_deny: enforce is empty"
    assert '"validationActions":["Audit"]' in annotations["validation_failure"]
    assert got.decisions == {"p": {"would_deny": 1}}
    assert got.events == [("would_deny", "no", "admitted", EMPTY)]
    assert "warnings" not in got.response


def test_otherwise_may_warn() -> None:
    got = reviewed(denying(rollout=WARNING))
    assert got.allowed
    assert got.response["warnings"] == ["Validation failed for policy 'p': no"]
    assert "validation_failure" not in got.response["auditAnnotations"]


def test_no_rollout_enforces() -> None:
    got = reviewed(denying())
    assert not got.allowed
    assert got.events == [("denial", "no", "denied", "")]


NUMBER = number_of("p", "shop", "", "")
ENFORCED = [
    ("percent above the number", {"enforce": {"percent": NUMBER + 1}}, True),
    ("percent equal to the number", {"enforce": {"percent": NUMBER}}, False),
    ("percent 0", {"enforce": {"percent": 0}}, False),
    ("percent 100", {"enforce": {"percent": 100}}, True),
    ("a selected namespace", SELECTED, True),
    ("an empty selector", {"enforce": {"namespaceSelector": {}}}, True),
    (
        "another namespace",
        {"enforce": {"namespaceSelector": {"matchLabels": {"stage": "prod"}}}},
        False,
    ),
    (
        "selected, but not in the percentage",
        {"enforce": {**SELECTED["enforce"], "percent": 0}},
        False,
    ),
    ("selected, and in the percentage", {"enforce": {**SELECTED["enforce"], "percent": 100}}, True),
    ("over", {"enforce": {}, "until": PAST}, True),
    ("not over", {"enforce": {}, "until": FUTURE}, False),
    ("new violations only, of a CREATE", {"enforce": {"newOnly": True}}, True),
    ("null is absent", {"enforce": {"percent": None, "namespaceSelector": None}}, False),
    ("without enforce", {"otherwise": []}, False),
]


@pytest.mark.parametrize(("rollout", "want"), [row[1:] for row in ENFORCED], ids=str)
def test_where_a_policy_is_enforced(rollout: JSONObject, want: bool) -> None:
    assert enforced(rollout, CANARY) is want


def test_a_higher_percentage_includes_a_lower_one_and_holds_for_a_policy() -> None:
    numbers = {name: number_of("p", name, "", "") for name in (f"team-{i}" for i in range(2000))}
    for percent in (1, 25, 50, 99):
        share = sum(number < percent for number in numbers.values()) / len(numbers)
        assert abs(share - percent / 100) < 0.04
    assert numbers != {name: number_of("q", name, "", "") for name in numbers}


def test_namespaces_and_cluster_scoped_objects() -> None:
    everything = rule("*", group="*", version="*")
    shadow = policy(
        "p", everything, validations=[demand("false", "no")], rollout={"enforce": {"percent": 50}}
    )
    for name in ("shop", "b", "c", "d", "e"):
        number = number_of("p", name, "", "")  # a Namespace has the number of what is in it
        namespace = {**NAMESPACE, "metadata": {"name": name}}
        assert reviewed(shadow, obj=namespace).allowed is (number >= 50)
        role = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}}
        number = number_of("p", "", "ClusterRole", name)
        assert reviewed(shadow, obj=role).allowed is (number >= 50)


def test_each_retry_of_a_generated_name_gets_the_same_answer() -> None:
    """The API server makes the name between both webhooks, another one for each request."""
    half = policy(
        "p",
        rule("*", group="*", version="*"),
        validations=[demand("false", "no")],
        mutations=[labelling("a", "'b'")],
        rollout={"enforce": {"percent": 50}},
    )
    outcomes = set()
    for base in ("a-", "b-", "c-", "d-", "e-"):
        enforced = number_of("p", "", "ClusterRole", base) < 50
        outcomes.add(enforced)
        for made in ("", "x7k2p", "q9z4d", "m4c8w"):
            metadata = {"generateName": base, **({"name": base + made} if made else {})}
            role = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": metadata}
            assert reviewed(half, obj=role).allowed is not enforced
            mutated = reviewed(half, obj=role, webhook="mutate").response
            assert ("patch" in mutated) is enforced
    assert outcomes == {True, False}


ERRORS: list[tuple[str, list[JSONObject], Webhook, str]] = [
    ("a validation", [policy(validations=[demand("object.nope == 1", "x")])], "validate", "p"),
    (
        "a matchCondition",
        [denying(matchConditions=[{"name": "m", "expression": "object.nope == 1"}])],
        "validate",
        "p",
    ),
    (
        "an audit annotation",
        [policy(auditAnnotations=[{"key": "k", "valueExpression": "string(object.nope)"}])],
        "validate",
        "p",
    ),
    (
        "params that are missing",
        [
            denying(
                paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
                paramRef={"name": "nope", "parameterNotFoundAction": "Deny"},
            ),
            config_map("other"),
        ],
        "validate",
        "p",
    ),
    ("a mutation", [policy(mutations=[add_label("string(object.nope)")])], "mutate", "p"),
    (
        "a mutation whose result does not decode",
        [policy("p", DEPLOYMENTS, mutations=[UNDECODABLE])],
        "mutate",
        "p",
    ),
]


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row[0])
def test_errors_outside_of_enforce_deny_nothing(
    row: tuple[str, list[JSONObject], Webhook, str],
) -> None:
    _, documents, webhook, _ = row
    held = [{**documents[0], "spec": {**documents[0]["spec"], "rollout": WARNING}}, *documents[1:]]
    obj = (
        deployment()
        if documents[0]["spec"]["matchConstraints"]["resourceRules"] == [DEPLOYMENTS]
        else IN_SHOP
    )
    assert not reviewed(*documents, obj=obj, webhook=webhook).allowed
    got = reviewed(*held, obj=obj, webhook=webhook)
    assert got.allowed
    assert got.decisions["p"] == {"error": 1}
    ((what, _, effect, why),) = got.events
    assert (what, effect, why) == ("error", "admitted", EMPTY)
    assert len(got.response["warnings"]) == 1
    assert got.response["auditAnnotations"]["rollout.p"] == "would_deny: enforce is empty"


def test_a_bug_of_policyd_outside_of_enforce_denies_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr("policyd.admission.findings.Findings.validated", broken)
    assert not reviewed(denying()).allowed
    got = reviewed(denying(rollout=SHADOW))
    assert got.allowed
    assert got.decisions["p"]["error"] == 1


# Mutations

PLAIN = policy("z", mutations=[labelling("z", "'z'")])


@pytest.mark.parametrize(
    "mutation",
    [labelling("a", "'secret'"), overlay({"metadata": {"labels": {"a": "secret"}}})],
    ids=["ApplyConfiguration", "Overlay"],
)
def test_a_mutation_is_computed_and_not_applied(mutation: JSONObject) -> None:
    for again in ("Never", "IfNeeded"):
        held = policy("p", mutations=[mutation], rollout=SHADOW, reinvocationPolicy=again)
        got = reviewed(held, PLAIN, webhook="mutate")
        assert got.allowed
        assert got.operations == {"z": 1}
        assert got.response["patchType"] == "JSONPatch"
        assert got.decisions == {"p": {"would_mutate": 1}, "z": {"admit": 1}}
        assert got.events == [("would_mutate", "/metadata/labels/a", "admitted", EMPTY)]
        annotations = got.response["auditAnnotations"]
        assert annotations["rollout.p"] == "would_mutate: enforce is empty"
        assert "secret" not in str(annotations)
        alone = reviewed(held, webhook="mutate")
        assert alone.allowed
        assert "patch" not in alone.response


def test_a_mutation_that_changes_nothing_is_an_admit() -> None:
    got = reviewed(
        policy("p", mutations=[labelling("app", "'web'")], rollout=SHADOW), webhook="mutate"
    )
    assert got.decisions == {"p": {"admit": 1}}
    assert got.events == []


@pytest.mark.parametrize(("before", "want"), [("canary", "admit"), ("prod", "would_mutate")])
def test_a_mutation_that_changes_the_stage_changes_nothing_of_this_request(
    before: str, want: str
) -> None:
    """The labels of a Namespace are its own: they are others in the second round."""
    name = "object.metadata.labels.?seen.orValue('') + 'x'"
    spaces = rule("namespaces")
    early = policy(
        "a",
        spaces,
        mutations=[labelling("seen", name)],
        rollout=SELECTED,
        reinvocationPolicy="IfNeeded",
    )
    other = "prod" if before == "canary" else "canary"
    late = policy("b", spaces, mutations=[labelling("stage", f"'{other}'")])
    created = {**NAMESPACE, "metadata": {"name": "new", "labels": {"stage": before}}}
    got = reviewed(early, late, obj=created, webhook="mutate")
    assert got.decisions["a"] == {want: 2 if want == "admit" else 1}
    assert [each[0] for each in got.events] == ([] if want == "admit" else ["would_mutate"])


def test_an_error_in_a_shadow_leaves_the_second_round_to_others() -> None:
    seen = "object.metadata.labels.?z.orValue('no')"
    early = policy("b", mutations=[labelling("saw", seen)], reinvocationPolicy="IfNeeded")
    late = policy("c", mutations=[labelling("z", "'yes'")])
    bad = policy("a", mutations=[add_label("string(object.nope)")], rollout=SHADOW)
    both = [
        reviewed(*documents, webhook="mutate") for documents in ([early, late], [bad, early, late])
    ]
    assert both[0].response["patch"] == both[1].response["patch"]
    assert both[1].decisions["a"] == {"error": 1}


# Documents


def test_a_rollout_document_is_about_the_policies_of_its_name() -> None:
    assert reviewed(denying(), rollout()).allowed
    validating = vap(validations=[demand("false", "no")])
    got = reviewed(validating, vap_binding(), rollout(otherwise=["Warn"]))
    assert got.allowed
    assert got.response["warnings"] == [
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"
    ]
    mutated = reviewed(
        map_(mutations=[labelling("a", "'b'")]), map_binding(), rollout(of="m"), webhook="mutate"
    )
    assert "patch" not in mutated.response
    assert mutated.decisions["m"] == {"would_mutate": 1}


def test_a_policy_without_deny_keeps_its_actions() -> None:
    got = reviewed(denying(validationActions=["Warn"], rollout={"otherwise": ["Audit"]}))
    assert got.allowed
    assert got.response["warnings"] == ["Validation failed for policy 'p': no"]
    assert got.decisions == {"p": {"warn": 1}}

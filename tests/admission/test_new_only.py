"""Rollouts with newOnly: an update is not denied for what the old object violates already."""

import pytest

from policyd.json_types import JSONObject
from tests.admission.staged import IN_SHOP, reviewed
from tests.builders.objects import deployment
from tests.builders.policies import PODS, demand, policy, rule

OLD_BAD = {**IN_SHOP, "spec": {**IN_SHOP["spec"], "hostNetwork": True}}
NEW_ONLY: JSONObject = {"enforce": {"newOnly": True}}
NO_HOST_NETWORK = demand("!object.spec.?hostNetwork.orValue(false)", "host network")
NO_NODE = demand("object.spec.?nodeName.orValue('') != 'n'", "node")
UNGUARDED = demand("object.spec.hostPID == false", "pid")
UNCHANGED = demand("object.spec == oldObject.spec", "changed")
WORSE = {**OLD_BAD, "spec": {**OLD_BAD["spec"], "nodeName": "n"}}


@pytest.mark.parametrize(
    ("validations", "old", "new", "want"),
    [
        ([NO_HOST_NETWORK], OLD_BAD, OLD_BAD, "would_deny"),
        ([NO_HOST_NETWORK], IN_SHOP, OLD_BAD, "deny"),
        ([NO_HOST_NETWORK, NO_NODE], OLD_BAD, WORSE, "deny"),
        ([NO_NODE, NO_HOST_NETWORK], OLD_BAD, OLD_BAD, "would_deny"),
        ([UNGUARDED], IN_SHOP, IN_SHOP, "error"),
        ([UNCHANGED], IN_SHOP, OLD_BAD, "deny"),
        ([NO_HOST_NETWORK], OLD_BAD, IN_SHOP, "admit"),
    ],
)
def test_new_only_admits_what_the_old_object_violated(
    validations: list[JSONObject], old: JSONObject, new: JSONObject, want: str
) -> None:
    got = reviewed(policy(validations=validations, rollout=NEW_ONLY), obj=new, old_object=old)
    assert got.decisions == {"p": {want: 1}}
    assert got.allowed is (want != "deny")
    existing = [event for event in got.events if event[3]]
    assert all(event[3] == "the old object also violates it" for event in existing)
    if want in ("would_deny", "error"):
        assert "rollout.p" in got.response["auditAnnotations"]


def test_new_only_of_a_create_is_enforced() -> None:
    got = reviewed(policy(validations=[NO_HOST_NETWORK], rollout=NEW_ONLY), obj=OLD_BAD)
    assert got.decisions == {"p": {"deny": 1}}


def test_a_condition_that_the_old_object_does_not_meet_makes_a_violation_new() -> None:
    condition = {"name": "m", "expression": "has(object.spec.nodeName)"}
    strict = policy(validations=[NO_HOST_NETWORK], matchConditions=[condition], rollout=NEW_ONLY)
    got = reviewed(strict, obj=WORSE, old_object=OLD_BAD)
    assert got.decisions == {"p": {"deny": 1}}


# Errors of the whole policy

IN_PROD = [{"name": "prod", "expression": "object.metadata.labels.env == 'prod'"}]
NEVER = [demand("false", "first"), demand("false", "second")]
BARE: JSONObject = {**IN_SHOP, "metadata": {"name": "web", "namespace": "shop"}}
PROD: JSONObject = {**BARE, "metadata": {**BARE["metadata"], "labels": {"env": "prod"}}}
NO_ENV: JSONObject = {**BARE, "metadata": {**BARE["metadata"], "labels": {"a": "b"}}}


@pytest.mark.parametrize(
    ("old", "new", "denied"),
    [
        # An error of a matchCondition is no violation of the first validation, nor the reverse.
        (BARE, PROD, ["first", "second"]),
        (PROD, BARE, ["no such key: labels"]),
        (NO_ENV, BARE, ["no such key: labels"]),
        (BARE, BARE, []),
    ],
)
def test_an_error_of_a_condition_is_new_unless_the_old_object_has_it(
    old: JSONObject, new: JSONObject, denied: list[str]
) -> None:
    strict = policy("p", PODS, validations=NEVER, matchConditions=IN_PROD, rollout=NEW_ONLY)
    got = reviewed(strict, obj=new, old_object=old)
    causes = got.response.get("status", {}).get("details", {}).get("causes", [])
    assert [each["message"].rpartition(" denied request: ")[2] for each in causes] == [
        each if each in ("first", "second") else f"{_CONDITION} resulted in error: {each}"
        for each in denied
    ]


_CONDITION = f"expression '{IN_PROD[0]['expression']}'"


@pytest.mark.parametrize(("old", "allowed"), [(BARE, True), (PROD, False)])
@pytest.mark.parametrize("actions", [["Deny"], ["Warn"]])
def test_an_error_of_an_annotation_is_new_unless_the_old_object_has_it(
    old: JSONObject, allowed: bool, actions: list[str]
) -> None:
    annotated = policy(
        "p",
        PODS,
        auditAnnotations=[{"key": "env", "valueExpression": "string(object.metadata.labels.env)"}],
        validationActions=actions,
        rollout=NEW_ONLY,
    )
    assert reviewed(annotated, obj=BARE, old_object=old).allowed is allowed


# Which requests


@pytest.mark.parametrize(("image", "allowed"), [("bad", True), ("good", False)])
def test_the_old_template_is_evaluated_where_a_policy_sees_pods(image: str, allowed: bool) -> None:
    strict = policy(
        "p",
        PODS,
        podControllers=True,
        validations=[demand("object.spec.containers.all(c, c.image != 'bad')", "bad")],
        rollout=NEW_ONLY,
    )
    new, old = (deployment({"name": "c", "image": each}) for each in ("bad", image))
    assert reviewed(strict, obj=new, old_object=old).allowed is allowed


def test_a_delete_is_enforced() -> None:
    strict = policy(
        "p", rule("pods", operations=["*"]), validations=[demand("false", "no")], rollout=NEW_ONLY
    )
    assert reviewed(strict, obj=IN_SHOP, old_object=IN_SHOP).allowed
    got = reviewed(strict, obj=None, old_object=IN_SHOP)
    assert got.decisions == {"p": {"deny": 1}}

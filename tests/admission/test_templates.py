"""podControllers of mutations: which templates are changed, when, and that nothing is changed twice."""

import json
from base64 import b64decode
from typing import Any

import jsonpatch
import pytest

from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container
from tests.builders.policies import apply_configuration, json_patch, policy
from tests.policy_sets import load

APPLY = apply_configuration("Object{spec: Object.spec{automountServiceAccountToken: false}}")
PATCH = json_patch(
    "[JSONPatch{op: 'add', path: '/spec/automountServiceAccountToken', value: false}]"
)
SPEC: JSONObject = {"containers": [container("c", "nginx")]}
OWNER: JSONObject = {
    "apiVersion": "x/v1",
    "kind": "Owner",
    "name": "o",
    "uid": "u",
    "controller": True,
}
KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def controller(kind: str, **metadata: Any) -> JSONObject:
    spec: JSONObject = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": SPEC}}
    if kind == "CronJob":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    metadata = {"name": "d", "namespace": "shop", **metadata}
    return {"apiVersion": KINDS[kind], "kind": kind, "metadata": metadata, "spec": spec}


def template(obj: JSONObject) -> JSONObject:
    spec = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
    found: JSONObject = spec["template"]
    return found


def policies(mutation: JSONObject) -> PolicySet:
    return load(policy(podControllers=True, mutations=[mutation]))


def mutated(policies: PolicySet, obj: JSONObject, operation: str = "CREATE") -> JSONObject:
    """The object after the webhook; the very same one where there is no patch."""
    response = policies.review(build_review(obj, operation=operation), "mutate")["response"]
    assert response["allowed"], response
    if "patch" not in response:
        return obj
    changed: JSONObject = jsonpatch.apply_patch(obj, json.loads(b64decode(response["patch"])))
    return changed


@pytest.mark.parametrize("mutation", [APPLY, PATCH], ids=["apply", "patch"])
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_template_of_every_kind(kind: str, operation: str, mutation: JSONObject) -> None:
    obj = controller(kind)
    after = mutated(policies(mutation), obj, operation)
    if (kind, operation) == ("Job", "UPDATE"):
        assert after is obj
        return
    assert template(after)["spec"] == {**SPEC, "automountServiceAccountToken": False}
    template(after)["spec"].pop("automountServiceAccountToken")
    assert after == obj


@pytest.mark.parametrize("kind", KINDS)
def test_neither_a_second_time_nor_in_the_pod_that_it_makes(kind: str) -> None:
    loaded = policies(APPLY)
    after = mutated(loaded, controller(kind))
    assert mutated(loaded, after) is after
    assert mutated(loaded, after, "UPDATE") is after
    metadata = {"name": "d-1", "namespace": "shop", "ownerReferences": [OWNER]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template(after)["spec"]}
    assert mutated(loaded, pod) is pod


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_another_controller_made_keeps_its_template(kind: str, operation: str) -> None:
    owned = controller(kind, ownerReferences=[OWNER])
    assert mutated(policies(APPLY), owned, operation) is owned


def test_a_pod_of_a_controller_that_the_policy_has_not_seen_is_mutated() -> None:
    metadata = {"name": "d-1", "namespace": "shop", "ownerReferences": [OWNER]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SPEC}
    assert mutated(policies(APPLY), pod)["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("owners", [None, [], [{**OWNER, "controller": False}], [{"kind": "x"}]])
def test_owners_that_are_no_controllers(owners: Any) -> None:
    owned = controller("Deployment", ownerReferences=owners)
    assert mutated(policies(APPLY), owned) is not owned


def test_a_rule_that_names_the_kind_itself_is_taken_at_its_word() -> None:
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["*"],
        "resources": ["jobs"],
    }
    suspend = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "Object{spec: Object.spec{suspend: true}}"},
    }
    loaded = load(policy(matchConstraints={"resourceRules": [rule]}, mutations=[suspend]))
    assert mutated(loaded, controller("Job"), "UPDATE")["spec"]["suspend"] is True

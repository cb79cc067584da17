"""Mutations of subresources, as the object that was sent; none where the API server takes no patch."""

from base64 import b64decode
from typing import Any

import jsonpatch
import pytest

from policyd.api.policy_set import PolicySet
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import EVERYTHING, add_label, policy
from tests.policy_sets import POD, load

META: JSONObject = {"name": "web", "namespace": "shop", "labels": {"app": "web"}}
SCALE: JSONObject = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": META,
    "spec": {"replicas": 9},
}
EVICTION: JSONObject = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": META}
BINDING: JSONObject = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": META,
    "target": {"name": "n"},
}
TOKEN: JSONObject = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "metadata": META,
    "spec": {"audiences": ["a"], "expirationSeconds": 3600, "boundObjectRef": None},
    "status": {"token": "", "expirationTimestamp": None},
}
# Resource, subresource, operation and object, as a webhook is sent them.
SENT: list[tuple[str, str, str, str, JSONObject]] = [
    ("apps", "deployments", "scale", "UPDATE", SCALE),
    ("apps", "statefulsets", "scale", "UPDATE", SCALE),
    ("", "pods", "status", "UPDATE", POD),
    ("", "pods", "ephemeralcontainers", "UPDATE", POD),
    ("", "pods", "resize", "UPDATE", POD),
    ("", "pods", "eviction", "CREATE", EVICTION),
    ("", "pods", "binding", "CREATE", BINDING),
    ("", "serviceaccounts", "token", "CREATE", TOKEN),
]
IDS = [f"{each[1]}/{each[2]}" for each in SENT]
APPLY: JSONObject = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'x': '1'}}}"},
}


def subresource_review(
    group: str, resource: str, sub: str, operation: str, obj: JSONObject
) -> JSONObject:
    whole = {"group": group, "version": "v1", "resource": resource}
    more: JSONObject = {"resource": whole, "subResource": sub, "requestResource": whole}
    return build_review(obj, operation=operation, overrides=more)


def policies(resource: str, *mutations: JSONObject, **spec: Any) -> PolicySet:
    either = {**EVERYTHING, "resources": [resource]}
    return load(policy("p", either, mutations=list(mutations), **spec))


@pytest.mark.parametrize(("group", "resource", "sub", "operation", "obj"), SENT, ids=IDS)
def test_a_rule_that_names_it_mutates_what_was_sent(
    group: str, resource: str, sub: str, operation: str, obj: JSONObject
) -> None:
    asked = subresource_review(group, resource, sub, operation, obj)
    answer = policies(f"{resource}/{sub}", add_label("'1'")).review(asked, "mutate")["response"]
    after = jsonpatch.apply_patch(obj, b64decode(answer["patch"]).decode())
    assert after == {**obj, "metadata": {**obj["metadata"], "labels": {"app": "web", "x": "1"}}}


@pytest.mark.parametrize(("group", "resource", "sub", "operation", "obj"), SENT, ids=IDS)
def test_a_rule_for_the_resource_or_for_its_pods_does_not(
    group: str, resource: str, sub: str, operation: str, obj: JSONObject
) -> None:
    asked = subresource_review(group, resource, sub, operation, obj)
    for found in (
        policies(resource, add_label("'1'")),
        policies("pods", add_label("'1'"), podControllers=True),
    ):
        answer = found.review(asked, "mutate")["response"]
        assert answer["allowed"] and "patch" not in answer


def test_the_scale_of_a_custom_resource_is_mutated_where_the_api_server_cannot_convert_it() -> None:
    asked = subresource_review("example.com", "widgets", "scale", "UPDATE", SCALE)
    patch = {"expression": "[JSONPatch{op: 'replace', path: '/spec/replicas', value: 4}]"}
    mutation = {"patchType": "JSONPatch", "jsonPatch": patch}
    answer = policies("widgets/scale", mutation).review(asked, "mutate")["response"]
    after = jsonpatch.apply_patch(SCALE, b64decode(answer["patch"]).decode())
    assert after["spec"] == {"replicas": 4}


def test_an_apply_configuration_of_a_scale_is_the_error_of_the_api_server() -> None:
    asked = subresource_review("apps", "deployments", "scale", "UPDATE", SCALE)
    answer = policies("deployments/scale", APPLY).review(asked, "mutate")["response"]
    assert answer["status"]["message"].endswith(
        "no corresponding type for autoscaling/v1, Kind=Scale"
    )


def test_what_does_not_decode_as_the_subresource_is_refused_and_not_sent() -> None:
    asked = subresource_review("apps", "deployments", "scale", "UPDATE", SCALE)
    wrong = {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/spec/template', value: {}}]"},
    }
    answer = policies("deployments/scale", wrong).review(asked, "mutate")["response"]
    assert answer["status"]["code"] == 500 and "patch" not in answer


OPTIONS: JSONObject = {
    "apiVersion": "v1",
    "kind": "PodExecOptions",
    "command": ["sh"],
    "stdin": True,
}


@pytest.mark.parametrize(
    ("sub", "operation", "obj"),
    [("exec", "CONNECT", OPTIONS), ("attach", "CONNECT", OPTIONS), ("", "DELETE", POD)],
)
def test_neither_connect_nor_delete(sub: str, operation: str, obj: JSONObject) -> None:
    asked = subresource_review("", "pods", sub, operation, obj)
    add = {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/stdin', value: false}]"},
    }
    answer = policies("*/*", add).review(asked, "mutate")["response"]
    assert answer["allowed"] and "patch" not in answer


@pytest.mark.parametrize(
    ("group", "resource", "kind"),
    [
        ("authentication.k8s.io", "tokenreviews", "TokenReview"),
        ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
        ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
        ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        ("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview"),
        ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    ],
)
def test_reviews_of_others_are_left_alone(group: str, resource: str, kind: str) -> None:
    obj = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"labels": {}}, "spec": {}}
    asked = subresource_review(group, resource, "", "CREATE", obj)
    for rule in ("*/*", resource):
        answer = policies(rule, add_label("'1'")).review(asked, "mutate")["response"]
        assert answer["allowed"] and "patch" not in answer


def test_an_object_that_is_null_has_no_patch() -> None:
    asked = subresource_review("", "pods", "", "UPDATE", POD)
    asked["request"]["object"] = None
    answer = policies("pods", add_label("'1'")).review(asked, "mutate")["response"]
    assert answer["allowed"] and "patch" not in answer

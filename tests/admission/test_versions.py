"""Policies that see a custom resource in another version than the one that was sent."""

import json
from base64 import b64decode

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import demand, policy
from tests.policy_sets import ask, load

CRD: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "conversion": {"strategy": "None"},
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
            for name in ("v1", "v1beta1")
        ],
    },
}
RULE: JSONObject = {
    "apiGroups": ["example.com"],
    "apiVersions": ["v1"],
    "operations": ["*"],
    "resources": ["widgets"],
}


def noting_version(name: str) -> JSONObject:
    """A policy on v1 that notes the apiVersion that it sees in an annotation."""
    path = f"/metadata/annotations/{name}"
    operation = f"JSONPatch{{op: 'add', path: '{path}', value: string(object.apiVersion)}}"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{operation}]"}}
    return policy(name, matchConstraints={"resourceRules": [RULE]}, mutations=[mutation])


def test_each_policy_sees_the_version_that_it_names_also_after_another_one_changed_the_object() -> (
    None
):
    policies = load(CRD, noting_version("a"), noting_version("b"))
    widget = {
        "apiVersion": "example.com/v1beta1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "annotations": {}},
    }
    answer = ask(policies, widget, webhook="mutate")
    assert answer["allowed"], answer
    assert {each["path"]: each["value"] for each in json.loads(b64decode(answer["patch"]))} == {
        "/metadata/annotations/a": "example.com/v1",
        "/metadata/annotations/b": "example.com/v1",
    }


@pytest.mark.parametrize("sent", ["v1", "v1beta1"])
def test_match_conditions_see_the_resource_of_the_client_and_validations_the_matched_one(
    sent: str,
) -> None:
    matched = "request.kind.version + request.resource.version"
    seen = demand("false", "", messageExpression=f"'sees ' + {matched}")
    of_client = {"name": "c", "expression": "request.resource.version == 'v1beta1'"}
    policies = load(CRD, policy("p", RULE, validations=[seen], matchConditions=[of_client]))
    widget = {
        "apiVersion": f"example.com/{sent}",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop"},
    }
    kind = {"group": "example.com", "version": sent, "kind": "Widget"}
    resource = {"group": "example.com", "version": sent, "resource": "widgets"}
    answer = ask(
        policies,
        widget,
        kind=kind,
        resource=resource,
        requestKind={**kind, "version": "v1beta1"},
        requestResource={**resource, "version": "v1beta1"},
    )
    assert not answer["allowed"]
    assert "sees v1v1" in answer["status"]["message"]

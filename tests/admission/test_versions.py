"""Policies that see a custom resource in another version than the one that was sent."""

import json
from base64 import b64decode

from policyd.json_types import JSONObject
from tests.builders.policies import policy
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

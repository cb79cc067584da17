"""Policies and objects for tests of the public API."""

from typing import Any

from policyd.json_types import JSONObject

POD: JSONObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
}
RULE: JSONObject = {
    "apiGroups": ["", "apps"],
    "apiVersions": ["v1"],
    "operations": ["*"],
    "resources": ["*", "pods/*", "deployments/*"],
}


def policy(name: str, *expressions: str, **spec: Any) -> JSONObject:
    """A Policy of these validations, whose messages are ``NAME INDEX``."""
    validations = [
        {"expression": expression, "message": f"{name} {index}"}
        for index, expression in enumerate(expressions)
    ]
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            **({"validations": validations} if validations else {}),
            **spec,
        },
    }


def labels(name: str, **added: str) -> JSONObject:
    """A Policy that adds labels."""
    mutation = {"patchType": "Overlay", "overlay": {"metadata": {"labels": added}}}
    return policy(name, mutations=[mutation])


def in_tree(name: str, expression: str, **binding: Any) -> tuple[JSONObject, JSONObject]:
    """A ValidatingAdmissionPolicy and its binding."""
    api_version = "admissionregistration.k8s.io/v1"
    return (
        {
            "apiVersion": api_version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [RULE]},
                "validations": [{"expression": expression, "reason": "Forbidden"}],
            },
        },
        {
            "apiVersion": api_version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": f"{name}-binding"},
            "spec": {"policyName": name, "validationActions": ["Deny"], **binding},
        },
    )

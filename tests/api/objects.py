"""Policies and objects for tests of the public API."""

from typing import Any

Json = dict[str, Any]

POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
}
RULE: Json = {
    "apiGroups": ["", "apps"],
    "apiVersions": ["v1"],
    "operations": ["*"],
    "resources": ["*", "pods/*", "deployments/*"],
}


def policy(name: str, *expressions: str, **spec: Any) -> Json:
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


def labels(name: str, **added: str) -> Json:
    """A Policy that adds labels."""
    mutation = {"patchType": "Overlay", "overlay": {"metadata": {"labels": added}}}
    return policy(name, mutations=[mutation])


def in_tree(name: str, expression: str, **binding: Any) -> tuple[Json, Json]:
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

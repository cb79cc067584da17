"""Small documents for tests: each builder gives a valid one, changed by its arguments."""

from typing import Any

import orjson

from policyd.json_types import JSONObject
from policyd.policy.source.documents import Sources
from policyd.policy.source.loader import load_text

ADMISSION = "admissionregistration.k8s.io/v1"
PODS: JSONObject = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["pods"],
}
VALIDATION: JSONObject = {"expression": "object.metadata.name != 'x'"}
MUTATION: JSONObject = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}


def rule(**changes: Any) -> JSONObject:
    return {**PODS, **changes}


def vap(name: str = "p", **spec: Any) -> JSONObject:
    base = {"matchConstraints": {"resourceRules": [PODS]}, "validations": [VALIDATION]}
    return document(ADMISSION, "ValidatingAdmissionPolicy", name, {**base, **spec})


def vap_binding(name: str = "b", **spec: Any) -> JSONObject:
    base = {"policyName": "p", "validationActions": ["Deny"]}
    return document(ADMISSION, "ValidatingAdmissionPolicyBinding", name, {**base, **spec})


def map_(name: str = "m", **spec: Any) -> JSONObject:
    base = {
        "matchConstraints": {"resourceRules": [PODS]},
        "mutations": [MUTATION],
        "reinvocationPolicy": "Never",
    }
    return document(ADMISSION, "MutatingAdmissionPolicy", name, {**base, **spec})


def map_binding(name: str = "mb", **spec: Any) -> JSONObject:
    return document(ADMISSION, "MutatingAdmissionPolicyBinding", name, {"policyName": "m", **spec})


def policy(name: str = "own", **spec: Any) -> JSONObject:
    base = {"matchConstraints": {"resourceRules": [PODS]}, "validations": [VALIDATION]}
    return document("policyd.dev/v1", "Policy", name, {**base, **spec})


def suite(name: str = "s", **fields: Any) -> JSONObject:
    case = {
        "name": "one",
        "request": {"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}},
        "expect": {"allowed": True},
    }
    metadata = {"name": name}
    head = {"apiVersion": "policyd.dev/v1", "kind": "PolicyTest", "metadata": metadata}
    return {**head, "cases": [case], **fields}


def document(api_version: str, kind: str, name: str, spec: JSONObject) -> JSONObject:
    kept = {key: value for key, value in spec.items() if value is not ...}
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": kept}


def loaded(*documents: JSONObject) -> Sources:
    return load_text("\n".join(orjson.dumps(each).decode() for each in documents), "t.yaml")


def wrongs(*documents: JSONObject) -> list[str]:
    """``path: message`` of every problem."""
    return [f"{problem.path}: {problem.message}" for problem in loaded(*documents).problems]

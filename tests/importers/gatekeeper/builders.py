"""Policies of Gatekeeper. No tests here."""

from typing import Any

from policyd.json_types import JSONObject
from tests.builders.policies import document

SCHEMA = {
    "properties": {
        "labels": {"type": "array", "default": ["owner"]},
        "nested": {"properties": {"a": {"default": 1}}},
    }
}


def template(source: JSONObject | None, **target: Any) -> JSONObject:
    """A ConstraintTemplate with CEL, and with Rego; only with Rego if there is no source."""
    code = [{"engine": "Rego", "source": {"rego": "package a"}}]
    if source is not None:
        code.insert(0, {"engine": "K8sNativeValidation", "source": source})
    names = {"names": {"kind": "K8sOwned"}, "validation": {"openAPIV3Schema": SCHEMA}}
    spec = {"crd": {"spec": names}, "targets": [{"code": code, **target}]}
    found = document("templates.gatekeeper.sh/v1", "ConstraintTemplate", "k8sowned", spec)
    found["metadata"]["annotations"] = {"description": "Labels\n say who."}
    return found


def constraint(name: str = "owned", **spec: Any) -> JSONObject:
    """A constraint of the template."""
    return document("constraints.gatekeeper.sh/v1beta1", "K8sOwned", name, spec)


def mutator(
    kind: str, location: str, parameters: JSONObject, match: JSONObject | None = None
) -> JSONObject:
    """A mutator of Pods."""
    spec: JSONObject = {"location": location, "parameters": parameters}
    if kind != "AssignMetadata":
        spec["applyTo"] = [{"groups": [""], "versions": ["v1"], "kinds": ["Pod"]}]
    if match:
        spec["match"] = match
    return document("mutations.gatekeeper.sh/v1", kind, "sample", spec)

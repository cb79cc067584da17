"""Short ways to write policies and objects. No tests here."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests import shared

Thing = dict[str, Any]
ADMISSION = "admissionregistration.k8s.io/v1"
DATA = Path(__file__).resolve().parents[1] / "bench" / "data"


def rule(
    *resources: str,
    group: str = "",
    version: str = "v1",
    operations: Iterable[str] = ("CREATE", "UPDATE"),
) -> Thing:
    """One of ``resourceRules``."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
    }


PODS = rule("pods")


def policy(name: str, *rules: Thing, **spec: Any) -> Thing:
    """A Policy; without rules it is one about ConfigMaps."""
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": list(rules or [rule("configmaps")])},
            **spec,
        },
    }


def demand(expression: str, message: str, **more: Any) -> Thing:
    """One of ``validations``."""
    return {"expression": expression, "message": message, **more}


NOT_PRIVILEGED = demand(
    "object.spec.containers.all(c, !c.?securityContext.?privileged.orValue(false))",
    "privileged containers are not allowed",
)


def json_patch(expression: str) -> Thing:
    """One of ``mutations``."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def apply_configuration(expression: str) -> Thing:
    """One of ``mutations``."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def labelling(key: str, value: str) -> Thing:
    """A mutation that sets one label, whether or not there are others."""
    return apply_configuration(
        f"Object{{metadata: Object.metadata{{labels: {{'{key}': {value}}}}}}}"
    )


def config_map(namespace: str, name: str, data: Mapping[str, str] | None = None) -> Thing:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict(data or {}),
    }


def pod(namespace: str, name: str, **container: Any) -> Thing:
    """A Pod of one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "app", "image": "app:1", **container}]},
    }


PRIVILEGED = {"securityContext": {"privileged": True}}


def deployment(namespace: str, name: str, **container: Any) -> Thing:
    """A Deployment of such Pods."""
    labels = {"app": name}
    spec = pod(namespace, name, **container)["spec"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def recorded_pods(namespace: str) -> list[Thing]:
    """The hundred Pods of the reference work as their clients sent them, in one namespace."""
    made = []
    for row in shared.rows(DATA / "bodies.jsonl.gz"):
        found = row["request"]["object"]
        metadata = {
            key: value
            for key, value in found["metadata"].items()
            if key not in ("uid", "generation", "creationTimestamp")
        }
        made.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {**metadata, "namespace": namespace},
                "spec": found["spec"],
            }
        )
    return made


def documents(*files: Path) -> list[Thing]:
    """Every document of some YAML files."""
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def custom_resource_definition() -> Thing:
    """Widgets: a colour, and parts that are merged by their name."""
    text = {"type": "string"}
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": text, "size": {"type": "integer"}},
    }
    parts = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": part,
    }
    spec = {"type": "object", "properties": {"colour": text, "parts": parts}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.e2e.policyd.dev"},
        "spec": {
            "group": "e2e.policyd.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }


def limiting(kind: Thing, **ref: Any) -> list[Thing]:
    """A ValidatingAdmissionPolicy about Secrets, with params."""
    spec = {
        "matchConstraints": {"resourceRules": [rule("secrets", operations=["CREATE"])]},
        "paramKind": kind,
        "validations": [
            {
                "expression": "!has(params.data.denied) || params.data.denied != 'yes'",
                "messageExpression": "'denied by ' + string(params.metadata.name)",
            }
        ],
    }
    ref = {"parameterNotFoundAction": "Deny", **ref}
    bound = {"policyName": "limits", "paramRef": ref, "validationActions": ["Deny"]}
    meta = {"name": "limits"}
    return [
        {"apiVersion": ADMISSION, "kind": f"ValidatingAdmissionPolicy{end}", **rest}
        for end, rest in (
            ("", {"metadata": meta, "spec": spec}),
            ("Binding", {"metadata": meta, "spec": bound}),
        )
    ]

"""Policies with their bindings, and the objects of the reference work. No tests here."""

from pathlib import Path
from typing import Any

import yaml

from policyd.json_types import JSONObject
from tests import shared
from tests.builders.policies import CONFIG_MAPS, rule, vap, vap_binding

DATA = shared.ROOT / "tools/bench/data"


def recorded_pods(namespace: str) -> list[JSONObject]:
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


def documents(*files: Path) -> list[JSONObject]:
    """Every document of some YAML files."""
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def validating(
    name: str, validations: list[JSONObject], *actions: str, **spec: Any
) -> list[JSONObject]:
    """A ValidatingAdmissionPolicy about ConfigMaps and Deployments, with its binding."""
    rules = (CONFIG_MAPS, rule("deployments", group="apps"))
    bound = vap_binding(name, policyName=name, validationActions=list(actions))
    return [vap(name, *rules, validations=validations, **spec), bound]


def limiting(kind: JSONObject, **ref: Any) -> list[JSONObject]:
    """A ValidatingAdmissionPolicy about Secrets, with params."""
    allowed = {
        "expression": "!has(params.data.denied) || params.data.denied != 'yes'",
        "messageExpression": "'denied by ' + string(params.metadata.name)",
    }
    ref = {"parameterNotFoundAction": "Deny", **ref}
    created = rule("secrets", operations=["CREATE"])
    return [
        vap("limits", created, paramKind=kind, validations=[allowed]),
        vap_binding("limits", policyName="limits", paramRef=ref),
    ]


def controlled(by: JSONObject, **metadata: str) -> JSONObject:
    """The metadata of what the controller of ``by`` creates."""
    keys = ("apiVersion", "kind")
    owner = {**{key: by[key] for key in keys}, "controller": True, "blockOwnerDeletion": True}
    owner |= {key: by["metadata"][key] for key in ("name", "uid")}
    return {"namespace": by["metadata"]["namespace"], "ownerReferences": [owner], **metadata}

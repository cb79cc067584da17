"""Mutations of a custom resource whose results only the API server's own representation explains:
empty lists are nil slices there, and labels that are no strings are no labels.

A case has the mutations of one policy, and what becomes of an object without ``spec``: its spec and
annotations after it was stored, or (``error``) a part of why the request is denied
``refused_since`` a version.
"""

from dataclasses import dataclass, field
from typing import Any

from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion
from tests.builders.policies import apply_configuration, json_patch, map_, map_binding, rule

GROUP = "gadgets.example.com"
_SET: JSONObject = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"type": "string"},
}
_FIELDS: JSONObject = {
    "tags": _SET,
    "maybe": {**_SET, "nullable": True},
    "usual": {**_SET, "default": ["a"]},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": _FIELDS}},
}
_VERSION: JSONObject = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": _SCHEMA},
}
_NAMES: JSONObject = {
    "kind": "Gadget",
    "listKind": "GadgetList",
    "plural": "gadgets",
    "singular": "gadget",
}
DEFINITION: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {"group": GROUP, "names": _NAMES, "scope": "Namespaced", "versions": [_VERSION]},
}
SIZE = "Object{metadata: Object.metadata{annotations: {'s': string(size(object.spec.tags))}}}"
TAGS = "Object{spec: Object.spec{tags: []}}"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    mutations: list[JSONObject]
    spec: JSONObject = field(default_factory=dict)
    annotations: JSONObject = field(default_factory=dict)
    error: str = ""
    refused_since: str = "1.30"
    again: str = "Never"
    given: JSONObject = field(default_factory=dict)

    def refused(self, version: str) -> bool:
        """Whether an API server of a version denies the request."""
        since = KubernetesVersion.parse(self.refused_since)
        return bool(self.error) and KubernetesVersion.parse(version) >= since

    def documents(self) -> list[JSONObject]:
        """Return the policy and its binding."""
        rules = rule("gadgets", group=GROUP)
        made = map_(self.name, rules, mutations=self.mutations, reinvocationPolicy=self.again)
        made["spec"]["matchConstraints"]["objectSelector"] = {"matchLabels": {"c": "x"}}
        return [made, map_binding(f"{self.name}-b", policyName=self.name)]


def configured(*expressions: str) -> list[JSONObject]:
    return [apply_configuration(each) for each in expressions]


USUAL: dict[str, Any] = {"usual": ["a"]}
CASES = [
    Case("list", configured(TAGS), USUAL),
    Case("default", configured("Object{spec: Object.spec{usual: []}}"), USUAL),
    Case("nullable", configured("Object{spec: Object.spec{maybe: []}}"), USUAL | {"maybe": None}),
    Case(
        "free",
        configured("Object{spec: Object.spec{free: Object.spec.free{l: []}}}"),
        USUAL | {"free": {"l": None}},
    ),
    Case("seen", configured(TAGS, SIZE), USUAL, {"s": "0"}),
    Case("seen-again", configured(TAGS, SIZE), USUAL, {"s": "0"}, again="IfNeeded"),
    Case(
        "metadata",
        configured(
            "Object{metadata: Object.metadata{ownerReferences: []}}",
            "Object{metadata: Object.metadata{annotations: "
            "{'s': string(size(object.metadata.ownerReferences))}}}",
        ),
        USUAL,
        {"s": "0"},
    ),
    Case(
        "appended",
        configured(TAGS, "Object{spec: Object.spec{tags: ['b']}}"),
        USUAL | {"tags": ["b"]},
    ),
    Case(
        "printed",
        [
            *configured(TAGS),
            json_patch("[JSONPatch{op: 'add', path: '/spec/tags', value: ['c']}]"),
        ],
        USUAL | {"tags": ["c"]},
    ),
    Case(
        "null",
        [
            *configured(TAGS),
            json_patch("[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]"),
        ],
        error="spec.tags",
    ),
    Case(
        "label",
        [
            *configured("Object{metadata: Object.metadata{annotations: {'a': 'new'}}}"),
            json_patch("[JSONPatch{op: 'add', path: '/metadata/labels/n', value: 5}]"),
        ],
        USUAL,
        error="cannot convert int64 to string",
        refused_since="1.37",
        again="IfNeeded",
    ),
]


def gadget(namespace: str = "default") -> JSONObject:
    metadata = {"name": "g", "namespace": namespace, "labels": {"c": "x"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": metadata, "spec": {}}

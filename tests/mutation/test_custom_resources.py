"""ApplyConfiguration of custom resources merges by what their definitions say of lists and maps."""

from typing import Any

import pytest

from policyd._core.values.types import StructValue
from policyd.errors import MutationError
from policyd.mutation import Schemas
from policyd.mutation.apply_configuration import ApplyConfiguration
from tests.mutation.builders import struct

GVK = ("example.com", "v1", "Gadget")
PORTS: dict[str, Any] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "note": {"type": "string", "nullable": True},
        },
    },
}
FIELDS: dict[str, Any] = {
    "ports": PORTS,
    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "plain": {"type": "array", "items": {"type": "string"}},
    "granular": {"type": "object", "additionalProperties": {"type": "string"}},
    "atomic": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "additionalProperties": {"type": "string"},
    },
    "port": {"x-kubernetes-int-or-string": True},
    "note": {"type": "string", "nullable": True},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "closed": {"type": "object", "properties": {"a": {"type": "string"}}},
    "template": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
CRD: dict[str, Any] = {
    "spec": {
        "group": "example.com",
        "names": {"kind": "Gadget", "plural": "gadgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": FIELDS}},
                    }
                },
            }
        ],
    }
}
SCHEMAS = Schemas.builtin().with_crds([CRD])


def applied(before: dict[str, Any], **fields: Any) -> Any:
    """``spec`` after ``Object{spec: Object.spec{...}}``."""
    spec = struct("Object.spec", **fields)
    obj = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {}, "spec": before}
    target = SCHEMAS.target(GVK)
    return ApplyConfiguration().apply(struct("Object", spec=spec), obj, target)["spec"]


def port(**fields: Any) -> StructValue:
    return struct("Object.spec.ports", **fields)


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (
            {"ports": [{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}]},
            {"ports": [port(port=1, note="x")]},
            {"ports": [{"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP", "note": "x"}]},
        ),
        (
            {"ports": [{"port": 1}]},
            {"ports": [port(port=1, protocol="TCP", note="x")]},
            {"ports": [{"port": 1, "protocol": "TCP", "note": "x"}]},
        ),
        (
            {"ports": [{"port": 1}]},
            {"ports": [port(port=1, protocol="UDP")]},
            {"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]},
        ),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, {"tags": ["a", "b", "c"]}),
        ({"granular": {"a": "1"}}, {"granular": {"b": "2"}}, {"granular": {"a": "1", "b": "2"}}),
        ({"port": "http"}, {"port": 80}, {"port": 80}),
        ({"port": 80}, {"port": "http"}, {"port": "http"}),
        ({"note": None}, {"note": "x"}, {"note": "x"}),
        ({"free": {"a": {"b": 1}}}, {"free": {"a": {"c": 2}}}, {"free": {"a": {"b": 1, "c": 2}}}),
        (
            {"template": {"kind": "X", "metadata": {"labels": {"a": "b"}}}},
            {"template": struct("Object.spec.template", metadata=struct("Object.spec.template.metadata", labels={"c": "d"}))},
            {"template": {"kind": "X", "metadata": {"labels": {"a": "b", "c": "d"}}}},
        ),
    ],
)  # fmt: skip
def test_merging(before: dict[str, Any], patch: dict[str, Any], after: dict[str, Any]) -> None:
    assert applied(before, **patch) == after


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"plain": ["a"]}, "may not mutate atomic arrays, maps or structs: .spec.plain"),
        ({"atomic": {"a": "b"}}, "may not mutate atomic arrays, maps or structs: .spec.atomic"),
        ({"closed": struct("Object.spec.closed", b="x")}, ".spec.closed.b: field not declared"),
        ({"unknown": 1}, ".spec.unknown: field not declared in schema"),
        ({"tags": [1]}, "expected string"),
        ({"granular": {"a": 1}}, ".spec.granular.a: expected string"),
    ],
)
def test_what_is_refused(patch: dict[str, Any], message: str) -> None:
    with pytest.raises(MutationError, match=message.replace(".", r"\.")):
        applied({}, **patch)

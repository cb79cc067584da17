"""Reads that are refused when a policy loads: what no rights may lend, and what is no name."""

import json
from typing import Any

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.source import loader
from tests.builders.reads import CONFIG_MAPS_READ, reading

MANY: list[JSON] = [{**CONFIG_MAPS_READ, "name": f"r{at}"} for at in range(17)]
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "secrets": ({"kind": "Secret"}, "kind", "objects of kind Secret cannot be read"),
    "tokens": (
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"},
        "kind",
        "objects of kind TokenReview cannot be read",
    ),
    "token requests": (
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"},
        "kind",
        "cannot be read",
    ),
    "answers about access": (
        {"apiVersion": "authorization.k8s.io/v1beta1", "kind": "SubjectAccessReview"},
        "kind",
        "cannot be read",
    ),
    "no version": ({"apiVersion": ""}, "apiVersion", "Required value"),
    "no kind": ({"kind": ""}, "kind", "Required value"),
    "a group alone": ({"apiVersion": "example.com/"}, "apiVersion", "must be VERSION"),
    "a version alone after a slash": ({"apiVersion": "/v1"}, "apiVersion", "must be VERSION"),
    "a parent as group": ({"apiVersion": "../v1"}, "apiVersion", "must be VERSION"),
    "parents": ({"apiVersion": "../../api/v1"}, "apiVersion", "must be VERSION"),
    "a parent as version": ({"apiVersion": "example.com/.."}, "apiVersion", "must be VERSION"),
    "a group with a path": ({"apiVersion": "a/b/v1"}, "apiVersion", "must be VERSION"),
    "an escape": ({"apiVersion": "example.com%2f..%2fapi/v1"}, "apiVersion", "must be VERSION"),
    "a query": ({"apiVersion": "example.com/v1?watch=true"}, "apiVersion", "must be VERSION"),
    "a fragment": ({"apiVersion": "example.com#/v1"}, "apiVersion", "must be VERSION"),
    "white space": ({"apiVersion": "v1 "}, "apiVersion", "must be VERSION"),
    "a kind with a path": ({"kind": "ConfigMap/../Secret"}, "kind", "DNS-1035"),
    "a kind with an escape": ({"kind": "Config%4dap"}, "kind", "DNS-1035"),
    "a parent as kind": ({"kind": ".."}, "kind", "DNS-1035"),
    "all kinds": ({"kind": "*"}, "kind", "DNS-1035"),
    "a kind that is too long": ({"kind": "K" * 64}, "kind", "63 bytes"),
    "a parent as namespace": ({"namespace": ".."}, "namespace", "RFC 1123"),
    "a namespace with a path": ({"namespace": "a/../../secrets"}, "namespace", "RFC 1123"),
    "a namespace with an escape": ({"namespace": "a%2f"}, "namespace", "RFC 1123"),
    "all namespaces": (
        {"namespace": "*"},
        "namespace",
        "must be same, any, or the name of a namespace",
    ),
    "no namespace": ({"namespace": ""}, "namespace", "RFC 1123"),
    "the namespace of what has none": (
        {"kind": "Node", "namespace": "any"},
        "namespace",
        "objects of kind Node are in no namespace",
    ),
    "no name": ({"name": ""}, "name", "Required value"),
    "a name that is none": ({"name": "a.b"}, "name", "must be a name of CEL"),
    "a word of CEL": ({"name": "in"}, "name", "must be a name of CEL"),
    "no time": ({"maxStalenessSeconds": 0}, "maxStalenessSeconds", "must be more than 0"),
    "for ever": ({"maxStalenessSeconds": 1e9}, "maxStalenessSeconds", "at most 86400 seconds"),
    "a selector of nothing": (
        {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        "labelSelector",
        "",
    ),
    "an unknown field": ({"names": "x"}, "names", ""),
    "a key that sees the request": ({"key": "object.metadata.name"}, "key", "undeclared reference"),
    "a key that sees reads": ({"key": "reads.maps"}, "key", "undeclared reference"),
    "a key that asks": ({"key": "authorizer.path('/')"}, "key", "undeclared reference"),
    "a key that is a number": ({"key": "1"}, "key", ""),
}


def problems(document: JSONObject) -> list[str]:
    found = compile_sources(loader.load_text(json.dumps(document))).problems
    return [f"{each.path}: {each.message}" for each in found]


@pytest.mark.parametrize(("fields", "field", "why"), WRONG.values(), ids=WRONG.keys())
def test_a_read_is_refused(fields: dict[str, Any], field: str, why: str) -> None:
    found = problems(reading(**fields))
    assert any(each.startswith(f"spec.reads[0].{field}") and why in each for each in found), found


def test_names_are_unique_and_reads_not_too_many() -> None:
    document = reading()
    document["spec"]["reads"] = [CONFIG_MAPS_READ] * 2
    assert any("Duplicate value" in each for each in problems(document))
    document["spec"]["reads"] = MANY
    assert any("Too many: 17: must have at most 16 items" in each for each in problems(document))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"apiVersion": "example.com/v1beta1", "kind": "Gadget", "namespace": "a.b-c"},
        {"apiVersion": "a.b.c-d.example/v2", "kind": "APIService", "namespace": "any"},
        {"kind": "Node"},
        {"maxStalenessSeconds": 0.5, "self": True, "key": "item.metadata.name"},
    ],
)
def test_what_a_read_may_be(fields: dict[str, Any]) -> None:
    assert problems(reading(**fields)) == []


OTHER_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "Secret"}, "spec.reads[0].kind"),
    ({"key": 5}, "spec.reads[0].key"),
    ({"unknown": "x"}, "spec.reads[0].unknown"),
    ({"namespace": ["any"]}, "spec.reads[0].namespace"),
]


@pytest.mark.parametrize(("fields", "path"), OTHER_MISTAKES)
def test_expressions_know_a_read_with_a_mistake(fields: dict[str, Any], path: str) -> None:
    uses = "'a' in reads.maps" if "key" in fields else "reads.maps.size() > 0"
    (found,) = problems(reading(uses, **fields))
    assert found.startswith(f"{path}: ")


def test_expressions_know_the_reads_of_a_policy_with_another_mistake() -> None:
    document = reading("reads.maps.size() > 0")
    document["spec"]["failurePolicy"] = "Maybe"
    (found,) = problems(document)
    assert found.startswith("spec.failurePolicy: ")

"""CustomResourceDefinitions whose form cannot be relied on are errors, never a crash."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.kinds.definitions import definitions
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import type_check
from tests.builders.policies import vap
from tests.policy_sets import loaded


def crd(schema: Any = None, **spec: Any) -> JSONObject:
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema or {}}}
    names = {"kind": "Gadget", "plural": "gadgets"}
    base = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {**base, **spec},
    }


AT = "spec.versions[0].schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (crd(group=None), "spec.group", "expected a text"),
        (crd(names=None), "spec.names", "expected an object"),
        (crd(names={"kind": "X"}), "spec.names.plural", "expected a text"),
        (crd(versions="v1"), "spec.versions", "expected a list"),
        (crd(versions=[None]), "spec.versions[0]", "expected an object"),
        (crd(versions=[{"served": True}]), "spec.versions[0].name", "expected a text"),
        (crd(versions=[{"name": "v", "schema": 1}]), "spec.versions[0].schema", "expected an object"),
        (crd([1]), AT, "expected a schema"),
        (crd({"properties": ["a"]}), f"{AT}.properties", "expected an object"),
        (crd({"properties": {"a": None}}), f"{AT}.properties.a", "expected a schema"),
        (crd({"type": ["string"]}), f"{AT}.type", "expected a text"),
        (crd({"type": "array", "items": []}), f"{AT}.items", "expected a schema"),
        (crd({"additionalProperties": "x"}), f"{AT}.additionalProperties", "expected a schema"),
        (
            crd({"items": {"x-kubernetes-list-map-keys": "name"}}),
            f"{AT}.items[x-kubernetes-list-map-keys]",
            "expected a list of texts",
        ),
        (crd({"$ref": "#/x"}), f"{AT}[$ref]", "a structural schema has no references"),
        ({**crd(), "spec": []}, "spec", "expected an object"),
        (
            {**crd(), "apiVersion": "apiextensions.k8s.io/v1beta1"},
            "apiVersion",
            "only apiextensions.k8s.io/v1 is understood of a CustomResourceDefinition",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(
    document: JSONObject, path: str, message: str
) -> None:
    sources = loaded(vap(), document)
    found = compile_sources(sources).problems
    assert [(each.path, each.message) for each in found] == [(path, message)]
    assert found[0].line > 0 and found[0].severity == "error"
    assert definitions(sources).documents == ()
    assert list(in_policies(LintRun(sources), type_check)) == []


def test_a_schema_without_end() -> None:
    schema: JSONObject = {}
    for _ in range(210):
        schema = {"items": schema}
    (problem,) = definitions(loaded(crd(schema))).problems
    assert problem.message == "the schema is deeper than 200 levels"


@pytest.mark.parametrize(
    "document",
    [
        crd(),
        crd({"type": "object", "additionalProperties": False}),
        crd({"properties": {"a": {"type": "array", "items": {"nullable": True}}}}),
        crd(versions=[{"name": "v1", "served": False, "schema": None}]),
        {"apiVersion": "example.com/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}},
    ],
)  # fmt: skip
def test_what_can_be_used_or_is_something_else(document: JSONObject) -> None:
    assert compile_sources(loaded(vap(), document)).problems == ()

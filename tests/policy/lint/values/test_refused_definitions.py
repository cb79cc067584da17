"""Advice on CustomResourceDefinitions that no API server accepts."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_documents
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.objects import RULE, refused_definitions
from tests.policy_sets import loaded

SCHEMA: JSONObject = {"openAPIV3Schema": {"type": "object"}}
VERSION: JSONObject = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA}


def definition(name: str = "things.x.io", **spec: Any) -> JSONObject:
    names = {"kind": "Thing", "plural": "things"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": "x.io", "names": names, "scope": "Namespaced", "versions": [VERSION]}
        | spec,
    }


ROWS = [
    (definition(), "", ""),
    (definition("thing.x.io"), "metadata.name", "write things.x.io"),
    (definition(validation=SCHEMA), "spec.validation", "write schema: {openAPIV3Schema: …}"),
    (
        definition(versions=[{"name": "v1", "validation": SCHEMA}]),
        "spec.versions[0].validation",
        "write schema: {openAPIV3Schema: …}",
    ),
]


@pytest.mark.parametrize(("document", "path", "hint"), ROWS)
def test_advice(document: JSONObject, path: str, hint: str) -> None:
    found = list(in_documents(LintRun(loaded(document)), refused_definitions))
    assert [each.path for each in found] == ([path] if path else [])
    assert all((each.rule, each.severity) == (RULE, "advice") for each in found)
    assert all(hint in each.hint and each.line > 0 for each in found)

"""ApplyConfiguration of kinds that nobody described: an error when the policy loads."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_sources
from tests.builders.policies import map_, policy, rule
from tests.policy_sets import loaded

CRD: JSONObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v2", "served": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}
APPLY: JSONObject = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"},
}
PATCH: JSONObject = {
    "patchType": "JSONPatch",
    "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/x'}]"},
}


def problems(*documents: JSONObject) -> list[str]:
    return [problem.message for problem in compile_sources(loaded(*documents)).problems]


def applying(mutation: JSONObject = APPLY, **rules: Any) -> JSONObject:
    named = rule(**{"apiGroups": ["example.com"], "resources": ["gadgets"], **rules})
    return policy("a", matchConstraints={"resourceRules": [named]}, mutations=[mutation])


WITHOUT = "is known: ApplyConfiguration cannot merge without"


def test_a_kind_without_a_schema_says_what_to_add() -> None:
    (found,) = compile_sources(loaded(applying())).problems
    assert found.message == f"no schema of gadgets.example.com {WITHOUT}"
    assert "add the CustomResourceDefinition gadgets.example.com" in found.hint
    assert (found.severity, found.rule) == ("error", "missing-schema")
    assert found.path == "spec.matchConstraints.resourceRules[0].resources[0]"
    assert found.line == 1
    assert problems(applying(), CRD) == []


def test_a_mutating_admission_policy_too() -> None:
    spec = applying()["spec"]
    document = map_("m", matchConstraints=spec["matchConstraints"], mutations=[APPLY])
    assert problems(document) == [f"no schema of gadgets.example.com {WITHOUT}"]


def test_a_version_that_is_not_served() -> None:
    assert problems(applying(apiVersions=["v1", "v2"]), CRD) == [
        f"no schema of gadgets.example.com in v2 {WITHOUT}"
    ]


@pytest.mark.parametrize(
    "document",
    [
        applying(PATCH),
        applying(apiGroups=["*"]),
        applying(resources=["*"]),
        applying(apiGroups=["apps"], resources=["deployments"]),
        applying(apiGroups=["autoscaling"], resources=["scales"]),
    ],
)
def test_what_may_have_a_schema_or_needs_none(document: JSONObject) -> None:
    assert problems(document) == []


def test_a_definition_that_comes_or_goes_changes_the_policy() -> None:
    first = compile_sources(loaded(applying(), CRD))
    without = compile_sources(loaded(applying()), first)
    assert [each.state for each in (*first.policies, *without.policies)] == [
        "active",
        "quarantined",
    ]
    again = compile_sources(loaded(applying(), CRD), without)
    assert [each.state for each in again.policies] == ["active"]

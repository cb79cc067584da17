"""What the policies of a set may look up, as it is kept ready for them."""

from typing import Any

import pytest

from policyd.admission.lookups.wanted import wanted_lookups
from policyd.json_types import JSONObject
from tests.admission.lookups.samples import MAPS, NAMESPACE, param
from tests.builders.policies import add_label, demand, policy, vap, vap_binding
from tests.policy_sets import compiled

NAME = {"matchLabels": {"kubernetes.io/metadata.name": "a"}}
TEAM = {"matchLabels": {"team": "a"}}

LABELS = ("metadata", "labels")
ANNOTATIONS = ("metadata", "annotations")
META = "namespaceObject.metadata"

NAMESPACES: dict[str, tuple[tuple[JSONObject, ...], set[tuple[str, ...]]]] = {
    "nothing": ((policy(),), set()),
    "the name": ((policy(match={"namespaceSelector": NAME}),), set()),
    "a label": ((policy(match={"namespaceSelector": TEAM}),), {LABELS}),
    "a label, by a binding": (
        (vap(), vap_binding(matchResources={"namespaceSelector": TEAM})),
        {LABELS},
    ),
    "a mutation": (
        (policy(mutations=[add_label(f"{META}.labels.team")]),),
        {LABELS, (*LABELS, "team")},
    ),
    "a label and an expression": (
        (
            policy("a", match={"namespaceSelector": TEAM}),
            policy("b", validations=[demand("namespaceObject.status.phase == 'x'", "no")]),
        ),
        {LABELS, ("status", "phase")},
    ),
}


@pytest.mark.parametrize(("documents", "wanted"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_namespaces(documents: tuple[JSONObject, ...], wanted: set[tuple[str, ...]]) -> None:
    assert wanted_lookups(compiled(*documents)).namespaces == wanted


# An expression, and what is read besides the labels: everything below what it takes.
READ: dict[str, set[tuple[str, ...]]] = {
    f"{META}.name == 'a'": {("metadata", "name")},
    f"{META}.annotations['a'] == 'b'": {(*ANNOTATIONS, "a")},
    f"{META}.annotations['a.b/c'] == 'b'": {(*ANNOTATIONS, "a.b/c")},
    f"{META}.annotations['7'] == 'b'": {(*ANNOTATIONS, "7")},
    f"{META}.annotations['a-7'] == 'b'": {(*ANNOTATIONS, "a-7")},
    f"{META}.?annotations['a'].orValue('') == 'b'": {(*ANNOTATIONS, "a")},
    f"has({META}.annotations)": {ANNOTATIONS},
    f"has({META}.annotations) && 'a' in {META}.annotations": {ANNOTATIONS},
    f"{META}.annotations[object.metadata.name] == 'b'": {ANNOTATIONS},
    f"{META}.annotations.all(k, k != 'a')": {ANNOTATIONS},
    f"{META}.finalizers[0] == 'a'": {("metadata", "finalizers")},
    "namespaceObject.status.conditions.exists(c, c.type == 'a')": {("status", "conditions")},
    "namespaceObject != null": {()},
    "namespaceObject == null || namespaceObject.spec.finalizers == []": {
        (),
        ("spec", "finalizers"),
    },
    f"(true ? {META} : {META}).name == 'a'": {("metadata",)},
    "[namespaceObject].all(n, n.metadata.name == 'a')": {()},
    "dyn(namespaceObject).metadata.name == 'a'": {()},
    f"[{META}.name, {META}.generateName].exists(n, n == 'a')": {
        ("metadata", "name"),
        ("metadata", "generateName"),
    },
}


@pytest.mark.parametrize(("expression", "read"), READ.items(), ids=READ.keys())
def test_fields_of_namespaces(expression: str, read: set[tuple[str, ...]]) -> None:
    found = wanted_lookups(compiled(policy(validations=[demand(expression, "no")])))
    assert found.namespaces == {LABELS, *read}


VARIABLES = {
    "of the object": ("namespaceObject", "variables.x.metadata.name == 'a'", ()),
    "of a field": (f"{META}.annotations", "variables.x.a == 'a'", ANNOTATIONS),
    "unused": (f"{META}.annotations.b", "true", (*ANNOTATIONS, "b")),
    "by another name": (META, "dyn(variables).x.name == 'a'", ("metadata",)),
}


@pytest.mark.parametrize(
    ("variable", "expression", "read"), VARIABLES.values(), ids=VARIABLES.keys()
)
def test_fields_by_variables(variable: str, expression: str, read: tuple[str, ...]) -> None:
    made = policy(
        variables=[{"name": "x", "expression": variable}],
        validations=[demand(f"{expression} && namespaceObject.status.phase != 'a'", "no")],
    )
    assert wanted_lookups(compiled(made)).namespaces == {LABELS, ("status", "phase"), read}


def bound(called: str, kind: JSONObject = MAPS, **ref: Any) -> tuple[JSONObject, JSONObject]:
    ref = {"parameterNotFoundAction": "Deny", **ref}
    return vap(called, paramKind=kind), vap_binding(called, policyName=called, paramRef=ref)


LIMITS = {"apiVersion": "limits.dev/v1", "kind": "Limit"}
# What is kept: apiVersion, kind, namespace, names, selections.
PARAMS: dict[str, tuple[tuple[JSONObject, ...], list[tuple[Any, ...]]]] = {
    "none": ((policy(),), []),
    "by name, where the request is": (
        bound("a", name="x"),
        [("v1", "ConfigMap", "", {"x"}, set())],
    ),
    "in namespaces": (
        (*bound("a", name="x", namespace="n"), *bound("b", name="y", namespace="m")),
        [("v1", "ConfigMap", "m", {"y"}, set()), ("v1", "ConfigMap", "n", {"x"}, set())],
    ),
    "in one namespace, twice": (
        (*bound("a", name="x", namespace="n"), *bound("b", name="y", namespace="n")),
        [("v1", "ConfigMap", "n", {"x", "y"}, set())],
    ),
    "in one namespace and anywhere": (
        (*bound("a", name="x", namespace="n"), *bound("b", name="y")),
        [("v1", "ConfigMap", "", {"x", "y"}, set())],
    ),
    "by selectors": (
        (*bound("a", selector=TEAM), *bound("b", selector={})),
        [("v1", "ConfigMap", "", set(), {"team=a", ""})],
    ),
    "of two kinds": (
        (*bound("a", name="x"), *bound("b", LIMITS, name="x")),
        [("limits.dev/v1", "Limit", "", {"x"}, set()), ("v1", "ConfigMap", "", {"x"}, set())],
    ),
    "among the policies": (
        (*bound("a", name="p", namespace=NAMESPACE), param("p", "here", NAMESPACE)),
        [],
    ),
}


@pytest.mark.parametrize(("documents", "wanted"), PARAMS.values(), ids=PARAMS.keys())
def test_params(documents: tuple[JSONObject, ...], wanted: list[tuple[Any, ...]]) -> None:
    found = [
        (each.api_version, each.kind, each.namespace, each.names, each.selections)
        for each in wanted_lookups(compiled(*documents)).params
    ]
    assert sorted(found, key=str) == sorted(wanted, key=str)


def test_only_what_bindings_refer_to_is_covered() -> None:
    documents = (*bound("a", name="x"), *bound("b", selector=TEAM))
    (params,) = wanted_lookups(compiled(*documents)).params
    assert params.covers("x", {})
    assert params.covers("y", {"team": "a"})
    assert not params.covers("y", {"team": "b"})


def test_the_same_policies_want_the_same() -> None:
    documents = (*bound("a", name="x"), *bound("b", selector=TEAM))
    assert wanted_lookups(compiled(*documents)) == wanted_lookups(compiled(*documents))

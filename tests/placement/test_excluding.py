"""Bindings leave out the namespaces that webhooks leave out."""

import copy
from typing import Any

import pytest

from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.placement.placed_documents import RESOURCES, ServedKinds, is_binding, key_of
from policyd.placement.planning import ExcludedNamespaces, PlacementPlanner
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.builders.policies import (
    ADMISSION,
    CONFIG_MAPS,
    PODS,
    VALIDATION,
    labelling,
    policy,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled, loaded

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
NAME = "kubernetes.io/metadata.name"
DEFAULT = ["kube-system", "policyd"]
LEASES = rule("leases", group="coordination.k8s.io")
ROLES = rule("clusterroles", group="rbac.authorization.k8s.io")


def bindings(*documents: JSONObject, options: RenderOptions = OPTIONS) -> list[JSONObject]:
    """The specs of the bindings of an export."""
    namespaces = ExcludedNamespaces(compiled(*documents), options)
    return [
        document["spec"]
        for each in namespaces.left_out(exported(loaded(*documents)))
        for document in each.documents
        if is_binding(document["kind"])
    ]


def left_out(spec: JSONObject) -> list[str]:
    """The namespaces that a selector of namespaces excludes by name."""
    selector = (spec.get("matchResources") or spec).get("namespaceSelector") or {}
    found = [each for each in selector.get("matchExpressions") or () if each["key"] == NAME]
    assert all(each["operator"] == "NotIn" for each in found)
    return [name for each in found for name in each["values"]]


CASES: list[tuple[tuple[JSONObject, ...], list[str]]] = [
    ((policy("p", PODS, validations=[VALIDATION]),), DEFAULT),
    ((policy("p", PODS, mutations=[labelling("a", "'b'")], validations=[VALIDATION]),), DEFAULT),
    ((policy("p", ROLES, validations=[VALIDATION]),), DEFAULT),
    ((policy("p", LEASES, validations=[VALIDATION]),), ["kube-node-lease", *DEFAULT]),
    ((vap("p", CONFIG_MAPS), vap_binding("one", policyName="p")), DEFAULT),
]


@pytest.mark.parametrize(("documents", "names"), CASES)
@pytest.mark.parametrize(
    ("given", "more", "less"),
    [
        ({}, [], []),
        ({"excluded_namespaces": ("kube-system", "x")}, ["x"], []),
        ({"excluded_namespaces": ("",), "namespace": ""}, [], DEFAULT),
    ],
)
def test_bindings_leave_out_what_webhooks_do(
    documents: tuple[JSONObject, ...],
    names: list[str],
    given: dict[str, Any],
    more: list[str],
    less: list[str],
) -> None:
    options = RenderOptions(**{"service": OPTIONS.service, "namespace": "policyd", **given})
    wanted = sorted({*names, *more} - {*less})
    found = bindings(*documents, options=options)
    assert found
    assert [left_out(each) for each in found] == [wanted] * len(found)
    rendered = render(compiled(*documents), options)
    assert [left_out(hook) for each in rendered for hook in each["webhooks"]] == (
        [wanted] * len(found)
    )


def test_an_export_leaves_out_what_a_placement_does() -> None:
    sources = [each for case, _ in CASES for each in case[:1] if each["kind"] == "Policy"]
    documents = [{**each, "metadata": {"name": f"p{i}"}} for i, each in enumerate(sources)]
    policies, exports = compiled(*documents), exported(loaded(*documents))
    planner = PlacementPlanner(policies, exports, OPTIONS, "only")
    plan = planner.plan(ServedKinds(dict.fromkeys(RESOURCES, ADMISSION)), {})
    placed = [each for part in plan.wanted.values() for each in part]
    left = ExcludedNamespaces(policies, OPTIONS).left_out(exports)
    mine = [document for each in left for part in each.parts for document in part.documents]
    assert {key_of(each): each["spec"] for each in placed} == {
        key_of(each): each["spec"] for each in mine
    }


def test_a_selector_of_the_binding_stays_and_its_source_is_not_changed() -> None:
    given = {
        "matchPolicy": "Exact",
        "namespaceSelector": {
            "matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "a", "operator": "Exists"}],
        },
    }
    documents = (vap("p", CONFIG_MAPS), vap_binding("one", policyName="p", matchResources=given))
    before = copy.deepcopy(documents)
    [spec] = bindings(*documents)
    selector = spec["matchResources"]["namespaceSelector"]
    assert spec["matchResources"]["matchPolicy"] == "Exact"
    assert selector["matchLabels"] == {"a": "b"}
    assert selector["matchExpressions"][:-1] == given["namespaceSelector"]["matchExpressions"]  # type: ignore[index]
    assert left_out(spec) == DEFAULT
    assert documents == before


def test_policies_themselves_stay_as_they_are() -> None:
    source = policy("p", PODS, validations=[VALIDATION])
    [export] = ExcludedNamespaces(compiled(source), OPTIONS).left_out(exported(loaded(source)))
    [plain] = exported(loaded(source))
    assert export.documents[0] == plain.documents[0]
    assert export.documents[1] != plain.documents[1]

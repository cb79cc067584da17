"""Rules about namespaces select the same objects after the import, also those that have none."""

import pytest

from policyd import build_review as build
from policyd.json_types import JSONObject
from tests.importers.converting import messages
from tests.importers.kyverno.classic import (
    allows,
    applies,
    cluster_policy,
    imported,
    matching,
    resources,
    spec_of,
    thing,
)

CLUSTER_ROLE = thing("ClusterRole", "rbac.authorization.k8s.io/v1", rules=[])
PROD = thing("Namespace", metadata={"name": "prod", "labels": {"tier": "a"}})
TIER = {"namespaceSelector": {"matchLabels": {"tier": "a"}}}
NO_TIER = {"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}}


@pytest.mark.parametrize(
    ("match", "exclude", "obj", "expected"),
    [
        (resources("*", namespaces=["a*"]), None, CLUSTER_ROLE, False),
        (resources("*", namespaces=["*"]), None, CLUSTER_ROLE, True),
        (resources("*", namespaces=["?*"]), None, CLUSTER_ROLE, False),
        (resources("ClusterRole"), {"namespaces": ["kube-*"]}, CLUSTER_ROLE, True),
        (resources("*", namespaces=["prod"]), None, PROD, True),
        (resources("*"), {"namespaces": ["prod"]}, PROD, False),
        # Labels of the namespace: cluster-scoped objects have none, Namespaces never fit.
        (resources("*", **TIER), None, CLUSTER_ROLE, False),
        (resources("*", **TIER), None, PROD, False),
        (resources("*", **NO_TIER), None, CLUSTER_ROLE, True),
        (resources("*", **NO_TIER), None, {**PROD, "metadata": {"name": "prod"}}, False),
        (resources("ClusterRole"), TIER, CLUSTER_ROLE, True),
        (resources("ClusterRole"), NO_TIER, CLUSTER_ROLE, False),
    ],
)
def test_objects_without_a_namespace(
    match: JSONObject, exclude: JSONObject | None, obj: JSONObject, expected: bool
) -> None:
    excluded = {"any": [{"resources": exclude}]} if exclude else None
    assert applies({"any": [match]}, obj, excluded) is expected


@pytest.mark.parametrize(("obj", "expected"), [(CLUSTER_ROLE, False), (PROD, False)])
def test_a_namespaced_policy_is_not_about_cluster_scoped_objects(
    obj: JSONObject, expected: bool
) -> None:
    policy = cluster_policy(matching({"any": [resources("*")]}))
    policy |= {"kind": "Policy", "metadata": {"name": "p", "namespace": "prod"}}
    assert allows(policy, obj) is not expected


def test_actions_by_namespace_know_objects_without_one() -> None:
    overrides = [{"action": "Audit", "namespaces": ["dev-*"]}]
    rule = matching({"any": [resources("ClusterRole")]})
    policy = cluster_policy(rule, validationFailureActionOverrides=overrides)
    assert not allows(policy, CLUSTER_ROLE)
    assert all(
        "no such key" not in each for each in messages(imported(policy), build(CLUSTER_ROLE))
    )


def test_a_namespace_that_labels_of_its_own_exclude_has_a_remark() -> None:
    excluded = {"any": [{"resources": TIER}]}
    [remark] = imported(cluster_policy(matching({"any": [resources("*")]}, excluded))).remarks
    assert "a Namespace is excluded by its own labels" in remark.message


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "ConfigMap"])
def test_the_namespace_of_namespaced_kinds_needs_no_default(kind: str) -> None:
    spec = spec_of(cluster_policy(matching({"any": [resources(kind, namespaces=["a"])]})))
    assert spec["matchConditions"][0]["expression"] == "request.namespace == 'a'"

"""The kustomizations make the same objects as the profiles of the chart."""

import json
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.deploy.rendering import PROFILES, chart, kustomized, with_component

OF_A_RELEASE = "app.kubernetes.io/instance"
OF_HELM = {
    OF_A_RELEASE,
    "app.kubernetes.io/name",  # kustomize leaves it out where `policyd configmap` wrote the object
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
}


@pytest.mark.parametrize(
    ("folder", "profile"),
    [
        ("overlays/default", "default"),
        ("overlays/cert-manager", "cert-manager"),
        ("base", "static"),
    ],
)
def test_objects_are_the_same(folder: str, profile: str) -> None:
    by_kustomize = normalised(kustomized(folder))
    by_helm = normalised(chart(*PROFILES[profile]))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key


TEAMS = "exceptions.namespaces={team-*}"
MONITORING = ("podMonitor.enabled=true", "prometheusRule.enabled=true", "dashboard.enabled=true")


@pytest.mark.parametrize(
    ("components", "values", "rules"),
    [
        (["in-tree"], ["inTree.mode=auto"], 1),
        (["events"], ["events=true"], 1),
        (["api-server-token"], ["apiServerToken.required=true"], 0),
        (["exceptions"], [TEAMS], 1),
        (["monitoring"], MONITORING, 0),
        (["report"], ["report.enabled=true"], 0),
        (["report", "exceptions"], ["report.enabled=true", TEAMS], 1),
    ],
)
def test_objects_of_components_are_the_same(
    tmp_path: Path, components: list[str], values: list[str], rules: int
) -> None:
    """``rules`` is how many the ClusterRole of the server has more."""
    by_helm = normalised(chart(*values))
    by_kustomize = normalised(with_component(*components, folder=tmp_path))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key
    role = ("ClusterRole", "policyd")
    assert len(by_helm[role]["rules"]) == len(normalised(chart())[role]["rules"]) + rules


def normalised(objects: list[JSONObject]) -> dict[tuple[str, str], Any]:
    """Objects by kind and name, without the labels of releases; flags are in no order.

    The Namespace is not the chart's: ``helm install --create-namespace`` makes it.
    """
    found = {}
    for each in objects:
        if each["kind"] == "Namespace":
            continue
        metadata = each["metadata"]
        metadata["labels"] = {
            name: value for name, value in metadata.get("labels", {}).items() if name not in OF_HELM
        }
        if each["kind"] == "Deployment":
            (only,) = each["spec"]["template"]["spec"]["containers"]
            only["args"] = sorted(only["args"])
        if each["kind"].endswith("Role"):
            each["rules"] = sorted(each["rules"], key=lambda rule: json.dumps(rule, sort_keys=True))
        found[(each["kind"], metadata["name"])] = without_instance(each)
    return found


def without_instance(value: Any) -> Any:
    """Without the label of the release in selectors and in the labels of Pods."""
    if isinstance(value, dict):
        return {
            name: without_instance(inner) for name, inner in value.items() if name != OF_A_RELEASE
        }
    if isinstance(value, list):
        return [without_instance(each) for each in value]
    return value

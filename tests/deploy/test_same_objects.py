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


@pytest.mark.parametrize(
    ("component", "value"), [("in-tree", "inTree.mode=auto"), ("events", "events=true")]
)
def test_objects_of_a_component_with_a_right_are_the_same(
    tmp_path: Path, component: str, value: str
) -> None:
    by_helm = normalised(chart(value))
    by_kustomize = normalised(with_component(component, folder=tmp_path))
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key
    off = normalised(chart())
    role = ("ClusterRole", "policyd")
    assert len(by_helm[role]["rules"]) == len(off[role]["rules"]) + 1, "one rule, if it is on"


def test_objects_that_require_tokens_are_the_same(tmp_path: Path) -> None:
    by_helm = normalised(chart("apiServerToken.required=true"))
    by_kustomize = normalised(with_component("api-server-token", folder=tmp_path))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key


def test_objects_for_exceptions_of_teams_are_the_same(tmp_path: Path) -> None:
    by_helm = normalised(chart("exceptions.namespaces={team-*}"))
    by_kustomize = normalised(with_component("exceptions", folder=tmp_path))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key


def test_objects_of_monitoring_are_the_same(tmp_path: Path) -> None:
    added = ("podMonitor", "prometheusRule", "dashboard")
    by_helm = normalised(chart(*(f"{each}.enabled=true" for each in added)))
    by_kustomize = normalised(with_component("monitoring", folder=tmp_path))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key


def test_objects_of_reports_are_the_same(tmp_path: Path) -> None:
    by_helm = normalised(chart("report.enabled=true"))
    by_kustomize = normalised(with_component("report", folder=tmp_path))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key


def test_objects_of_reports_with_exceptions_of_teams_are_the_same(tmp_path: Path) -> None:
    by_helm = normalised(chart("report.enabled=true", "exceptions.namespaces={team-*}"))
    by_kustomize = normalised(with_component("report", "exceptions", folder=tmp_path))
    assert by_kustomize.keys() == by_helm.keys()
    for key, expected in by_helm.items():
        assert by_kustomize[key] == expected, key


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

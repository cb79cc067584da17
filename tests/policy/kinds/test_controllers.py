"""Pod controllers: which rules follow from rules for pods, and the way to the template and back."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.kinds.controllers import controller_rules, pod_of, with_pod

RULE: JSONObject = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["pods"],
    "resourceNames": ["only-this"],
}


def templated(**template: object) -> JSONObject:
    spec: JSONObject = {"replicas": 2, "template": {**template}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def test_rules_for_pods_get_their_controllers() -> None:
    rules = controller_rules([RULE])
    assert {group for rule in rules for group in rule["apiGroups"]} == {"", "apps", "batch"}
    assert all(rule["operations"] == ["CREATE", "UPDATE"] for rule in rules)
    assert all("resourceNames" not in rule for rule in rules)
    resources = {name for rule in rules for name in rule["resources"]}
    assert resources == {
        "deployments",
        "statefulsets",
        "daemonsets",
        "replicasets",
        "replicationcontrollers",
        "jobs",
        "cronjobs",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"resources": ["pods/exec"]},
        {"resources": ["configmaps"]},
        {"operations": ["DELETE", "CONNECT"]},
        {"apiGroups": ["apps"]},
    ],
)
def test_other_rules_get_none(changes: JSONObject) -> None:
    assert controller_rules([{**RULE, **changes}]) == []


def test_the_template_is_seen_as_a_pod_of_the_request_namespace() -> None:
    obj = templated(metadata={"labels": {"a": "b"}}, spec={"containers": []})
    assert pod_of(obj, "shop") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"a": "b"}, "namespace": "shop"},
        "spec": {"containers": []},
    }


def test_a_cron_job_has_its_template_deeper() -> None:
    job: JSONObject = {
        "kind": "CronJob",
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {"x": 1}}}}},
    }
    pod = pod_of(job, "shop")
    assert pod is not None and pod["spec"] == {"x": 1}


@pytest.mark.parametrize("obj", [None, {}, {"kind": "Deployment", "spec": None}])
def test_no_template_is_no_pod(obj: JSONObject | None) -> None:
    assert pod_of(obj, "shop") is None


def test_a_changed_pod_goes_back_into_the_template_without_touching_the_input() -> None:
    obj = templated(metadata={"labels": {"a": "b"}}, spec={"containers": []})
    before = pod_of(obj, "shop")
    assert before is not None
    after: JSONObject = {
        **before,
        "metadata": {"labels": {"a": "c"}, "namespace": "shop"},
        "spec": {"containers": [], "hostNetwork": False},
    }
    changed = with_pod(obj, before, after)
    assert changed == templated(
        metadata={"labels": {"a": "c"}}, spec={"containers": [], "hostNetwork": False}
    )
    assert obj == templated(metadata={"labels": {"a": "b"}}, spec={"containers": []})
    assert changed["metadata"] is obj["metadata"]

"""Rules for Pods apply to the controllers that Kyverno extends them to."""

import pytest

from policyd.json_types import JSONObject
from tests.importers.kyverno.classic import (
    CONTAINER,
    allows,
    cluster_policy,
    imported,
    matching,
    pattern,
    pod_of,
    rule_of,
    spec_of,
    workload,
)

ANNOTATION = "pod-policies.kyverno.io/autogen-controllers"
NOT_LATEST = {"spec": {"containers": [{"image": "!*:latest"}]}}
LATEST = [{**CONTAINER, "image": "nginx:latest"}]


@pytest.mark.parametrize(
    ("annotation", "denied"),
    [
        (None, ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"]),
        ("none", []),
        ("Deployment,CronJob", ["Deployment", "CronJob"]),
        ("DaemonSet", ["DaemonSet"]),
    ],
)
def test_the_annotation_chooses_the_controllers(annotation: str | None, denied: list[str]) -> None:
    annotations = {ANNOTATION: annotation} if annotation else {}
    policy = cluster_policy(pattern(NOT_LATEST), annotations=annotations)
    assert not allows(policy, pod_of(containers=LATEST))
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"):
        assert allows(policy, workload(kind)), kind
        assert allows(policy, workload(kind, containers=LATEST)) is (kind not in denied), kind


def is_extended(*rules: JSONObject) -> bool:
    specs = [each.raw["spec"] for each in imported(cluster_policy(*rules)).documents]
    return any(each.get("podControllers") for each in specs)


@pytest.mark.parametrize(
    ("resources", "extended"),
    [
        ({"kinds": ["Pod"]}, True),
        ({"kinds": ["v1/Pod"], "namespaces": ["prod"]}, True),
        ({"kinds": ["Pod", "Deployment"]}, False),
        ({"kinds": ["Pod"], "names": ["web"]}, False),
        ({"kinds": ["Pod"], "selector": {"matchLabels": {"a": "b"}}}, False),
        ({"kinds": ["Pod"], "annotations": {"a": "b"}}, False),
        ({"kinds": ["Service"]}, False),
    ],
)
def test_what_is_extended(resources: JSONObject, extended: bool) -> None:
    assert is_extended(matching({"any": [{"resources": resources}]})) is extended


def test_one_rule_with_a_name_keeps_the_others_from_being_extended() -> None:
    named = matching({"any": [{"resources": {"kinds": ["Secret"], "names": ["a"]}}]}, name="s")
    assert not is_extended(pattern(NOT_LATEST), named)


def test_names_of_the_generated_rules() -> None:
    found = imported(cluster_policy(pattern(NOT_LATEST, name="tag")))
    assert found.rules == dict.fromkeys(("tag", "autogen-tag", "autogen-cronjob-tag"), ("p",))


def test_a_rule_that_reads_the_controller_becomes_one_for_each_form() -> None:
    deny = {
        "conditions": {
            "all": [
                {
                    "key": '{{ request."object".metadata.name }}',
                    "operator": "Equals",
                    "value": "web",
                },
                {
                    "key": "{{ request.object.spec.hostNetwork || `false` }}",
                    "operator": "Equals",
                    "value": True,
                },
            ]
        }
    }
    policy = cluster_policy(rule_of({"message": "no", "deny": deny}))
    assert [each.name for each in imported(policy).documents] == [
        "p-pods",
        "p-controllers",
        "p-cronjobs",
    ]
    for kind in ("Deployment", "Job", "CronJob"):
        assert not allows(policy, workload(kind, hostNetwork=True))
        assert allows(policy, workload(kind))
        other = workload(kind, hostNetwork=True)
        other["metadata"]["name"] = "db"
        assert allows(policy, other)


def test_the_rules_of_a_policy_without_pods_are_not_extended() -> None:
    assert "podControllers" not in spec_of(cluster_policy(pattern({"spec": {"a": "b"}}, "Service")))

"""Rules for Pods apply to the controllers that Kyverno extends them to."""

import pytest

from policyd.json_types import JSONObject
from tests.importers.kyverno.classic import (
    CONTAINER,
    allows,
    cluster_policy,
    condition,
    imported,
    matching,
    pattern,
    pod_of,
    rule_of,
    workload,
)

ANNOTATION = "pod-policies.kyverno.io/autogen-controllers"
NOT_LATEST = {"spec": {"containers": [{"image": "!*:latest"}]}}
DENY = {"message": "no", "deny": {}}
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
        ({"kinds": ["Pod"], "namespaces": ["prod"]}, True),
        ({"kinds": ["Pod"], "namespaceSelector": {"matchLabels": {"a": "b"}}}, True),
        ({"kinds": ["v1/Pod"]}, False),
        ({"kinds": ["Pod/exec"]}, False),
        ({"kinds": ["*/Pod/status"]}, False),
        ({"kinds": ["Pod"], "selector": {}}, False),
        ({"kinds": ["Pod"], "annotations": {}}, False),
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


@pytest.mark.parametrize(
    ("first", "second", "remarks"),
    [
        # A version is no obstacle beside a rule that names a kind alone.
        ("v1/Pod", pattern({"spec": {}}, "Deployment", name="b"), []),
        ("Pod", rule_of(DENY, "Pod/exec", name="b"), ["spec.rules[1].match"]),
    ],
)
def test_the_other_rule_is_not_extended(first: str, second: JSONObject, remarks: list[str]) -> None:
    found = imported(cluster_policy(pattern(NOT_LATEST, first, name="a"), second))
    extended = [bool(each.raw["spec"].get("podControllers")) for each in found.documents]
    assert extended == [True, False]
    assert [each.path for each in found.remarks] == remarks


def test_rules_that_kyverno_generated_are_left_out_where_it_generates_them() -> None:
    generated = pattern({"spec": {"template": NOT_LATEST}}, "Deployment", name="autogen-r")
    found = imported(cluster_policy(pattern(NOT_LATEST), generated))
    assert ([each.name for each in found.documents], found.remarks[0].path) == (
        ["p"],
        "spec.rules[1].name",
    )
    assert len(imported(cluster_policy(generated)).documents) == 1


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("all", ["autogen-r", "autogen-cronjob-r"]),
        ("none", []),
        ("", []),
        ("CronJob", ["autogen-cronjob-r"]),
        ("Deployment, CronJob", ["autogen-r", "autogen-cronjob-r"]),
        ("Job, Deployment", ["autogen-r"]),
    ],
)
def test_names_by_annotation(annotation: str, names: list[str]) -> None:
    policy = cluster_policy(pattern(NOT_LATEST), annotations={ANNOTATION: annotation})
    assert imported(policy).rules == dict.fromkeys(("r", *names), ("p",))


def test_a_rule_that_reads_the_controller_becomes_one_for_each_form() -> None:
    keys = {
        '{{ request."object".metadata.name }}': "web",
        "{{ request.object.spec.hostNetwork || `false` }}": True,
    }
    tests = [condition(key, "Equals", value) for key, value in keys.items()]
    policy = cluster_policy(rule_of({"message": "no", "deny": {"conditions": {"all": tests}}}))
    names = [each.name for each in imported(policy).documents]
    assert names == ["p-pods", "p-controllers", "p-cronjobs"]
    for kind in ("Deployment", "Job", "CronJob"):
        assert not allows(policy, workload(kind, hostNetwork=True))
        assert allows(policy, workload(kind))
        other = workload(kind, hostNetwork=True)
        other["metadata"]["name"] = "db"
        assert allows(policy, other)

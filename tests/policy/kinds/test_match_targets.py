"""Which resources of a cluster policies are about."""

import json
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from policyd.policy.kinds.match_targets import MatchTargets
from policyd.policy.kinds.served_resource import Served
from policyd.policy.source.loader import load
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule

# The preferred version of a resource comes first.
SERVED = (
    Served("", "v1", "namespaces", "Namespace", False),
    Served("", "v1", "pods", "Pod", True),
    Served("", "v1", "events", "Event", True),
    Served("apps", "v1", "deployments", "Deployment", True),
    Served("apps", "v1", "replicasets", "ReplicaSet", True),
    Served("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", True),
    Served("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", True),
    Served("events.k8s.io", "v1", "events", "Event", True),
    Served(
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        False,
    ),
)
SCALERS = "horizontalpodautoscalers"
EVERY = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
ROWS = [
    ([rule("pods")], {}, ["v1 pods"]),
    ([rule("pods", operations=["*"])], {}, ["v1 pods"]),
    ([rule("pods", operations=["UPDATE", "DELETE"])], {}, []),
    ([rule("pods", version="v2")], {}, []),
    ([rule("pods/log")], {}, []),
    ([rule("pods/*")], {}, ["v1 pods"]),
    ([{**rule("pods"), "resourceNames": ["web"]}], {}, ["v1 pods"]),
    ([{**rule("*"), "scope": "Cluster"}], {}, ["v1 namespaces"]),
    ([{**rule("*"), "scope": "Namespaced"}], {}, ["v1 events", "v1 pods"]),
    ([rule(SCALERS, group="autoscaling")], {}, [f"autoscaling/v1 {SCALERS}"]),
    ([rule(SCALERS, group="autoscaling", version="*")], {}, [f"autoscaling/v2 {SCALERS}"]),
    ([rule("events", group="*")], {}, ["v1 events"]),
    ([rule("events", group="events.k8s.io")], {}, ["events.k8s.io/v1 events"]),
    ([EVERY], {"excludeResourceRules": [rule("pods"), rule("*", group="autoscaling", version="*")]},
     ["v1 namespaces", "v1 events", "apps/v1 deployments", "apps/v1 replicasets"]),
    ([rule("pods")], {"objectSelector": {"matchLabels": {"a": "b"}}}, ["v1 pods"]),
    ([rule("pods")], {"namespaceSelector": {"matchLabels": {"a": "b"}}}, ["v1 pods"]),
]  # fmt: skip


def reach(folder: Path, made: JSONObject) -> MatchTargets:
    (folder / "policies.yaml").write_text(json.dumps(made))
    return MatchTargets(load([folder]), [(made["metadata"]["name"], "Policy")])


@pytest.mark.parametrize(("rules", "more", "want"), ROWS, ids=[str(row[2]) for row in ROWS])
def test_what_rules_reach(
    rules: list[JSONObject], more: JSONObject, want: list[str], tmp_path: Path
) -> None:
    made = policy("team", CONFIG_MAPS, validations=[demand("true", "no")])
    made["spec"]["matchConstraints"] = {"resourceRules": rules, **more}
    found = reach(tmp_path, made).targets(SERVED)
    assert [f"{each.served.api_version} {each.served.resource}" for each in found] == want


def test_pod_controllers_come_before_their_pods(tmp_path: Path) -> None:
    made = policy("team", rule("pods"), validations=[demand("true", "no")], podControllers=True)
    found = reach(tmp_path, made)
    assert [each.served.kind for each in found.targets(SERVED)] == [
        "Deployment", "ReplicaSet", "Pod",
    ]  # fmt: skip
    assert found.names_group("apps") and not found.names_group("autoscaling")


def test_policies_that_are_not_asked_reach_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(policy("other", rule("pods"))))
    assert MatchTargets(load([tmp_path]), []).targets(SERVED) == []

"""Pod controllers: which rules follow from rules for pods, and the way to the template and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.match.matcher import MatchInput, MatchRules
from policyd.json_types import JSONObject
from policyd.policy.kinds.controllers import (
    controller_constraints,
    controller_rules,
    pod_of,
    with_pod,
)

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
        {"apiVersions": ["v2"]},
        {"scope": "Cluster"},
    ],
)
def test_other_rules_get_none(changes: JSONObject) -> None:
    assert controller_rules([{**RULE, **changes}]) == []


@pytest.mark.parametrize("resource", ["pods", "pods/*", "*", "*/*"])
def test_wildcards_match_pods_as_well(resource: str) -> None:
    assert controller_rules([{**RULE, "resources": [resource]}]) == controller_rules([RULE])


def _some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=2)


_rules = st.lists(
    st.fixed_dictionaries(
        {
            "apiGroups": _some("", "*", "batch"),
            "apiVersions": _some("v1", "*", "v2"),
            "operations": _some("CREATE", "UPDATE", "DELETE", "*"),
            "resources": _some("pods", "pods/*", "*", "*/*", "pods/exec", "services"),
            "scope": st.sampled_from(("*", "Namespaced", "Cluster")),
        },
        optional={"resourceNames": st.sampled_from(([], ["legacy"]))},
    ),
    max_size=2,
)


def _hit(rules: list[JSONObject], operation: str, resource: str, name: str = "") -> bool:
    group, _, plural = resource.rpartition("/")
    place = {"group": group, "version": "v1"}
    request: JSONObject = {
        "operation": operation,
        "namespace": "shop",
        "name": name,
        "kind": {**place, "kind": "K"},
        "resource": {**place, "resource": plural},
    }
    matched = MatchRules(rules or [{}]).match(MatchInput(request, lambda _: {}))
    return matched is not None


@given(_rules, _rules, st.sampled_from(("CREATE", "UPDATE", "DELETE")))
def test_controllers_are_treated_as_pods_of_any_name(
    rules: list[JSONObject], excludes: list[JSONObject], operation: str
) -> None:
    """A rule for one Pod is a rule for every controller; an exclude of one Pod excludes none."""
    given_ = {"resourceRules": rules, "excludeResourceRules": excludes}
    derived = controller_constraints(given_)
    as_pods = [_hit(rules, operation, "pods", name) for name in ("legacy", "web")]
    excluded = [_hit(excludes, operation, "pods", name) for name in ("legacy", "web")]
    written = operation != "DELETE"
    for resource in ("apps/deployments", "replicationcontrollers", "batch/cronjobs"):
        found = _hit(derived["resourceRules"], operation, resource, "legacy")
        assert found is (written and any(as_pods))
        found = _hit(derived["excludeResourceRules"], operation, resource, "legacy")
        assert found is (written and all(excluded))


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

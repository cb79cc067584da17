"""Policies limited to a namespace match nothing else, whatever they were written for."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import (
    EVERYTHING,
    denying,
    policy,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import ask, load
from tools.crossover.limiting import limited

HERE = "crossover-1"
SELECTOR = {
    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [HERE]}]
}
SCOPES = st.sampled_from([None, "*", "Cluster", "Namespaced"])
SELECTORS = st.sampled_from([None, {}, {"matchLabels": {"env": "prod"}}])


@given(st.lists(SCOPES, min_size=1, max_size=4), SELECTORS, st.sampled_from(["policy", "vap"]))
def test_no_rule_and_no_selector_reaches_beyond_the_namespace(
    scopes: list[str | None], selector: JSONObject | None, kind: str
) -> None:
    rules = [rule("pods", **({} if each is None else {"scope": each})) for each in scopes]
    constraints: JSONObject = {"resourceRules": rules}
    if selector is not None:
        constraints["namespaceSelector"] = selector
    make = {"policy": policy, "vap": vap}[kind]
    document = make(matchConstraints=constraints)
    before = copy.deepcopy(document)
    held = limited(document, [HERE])
    assert document == before
    if set(scopes) == {"Cluster"}:
        assert held is None
        return
    assert held is not None
    match = held["spec"]["matchConstraints"]
    assert match["namespaceSelector"] == SELECTOR
    assert {each["scope"] for each in match["resourceRules"]} == {"Namespaced"}
    assert len(match["resourceRules"]) == len([each for each in scopes if each != "Cluster"])


def test_a_binding_is_for_all_namespaces_of_its_limited_policy() -> None:
    assert limited(vap_binding(), [HERE]) == vap_binding()
    selected = {"matchLabels": {"a": "b"}}
    resources = {"namespaceSelector": selected, "objectSelector": selected}
    held = limited(vap_binding(matchResources=resources), [HERE])
    assert held == vap_binding(matchResources={"objectSelector": selected})


def test_a_binding_for_cluster_scoped_objects_only_is_not_made_one_for_everything() -> None:
    rules = [rule("nodes", scope="Cluster")]
    assert limited(vap_binding(matchResources={"resourceRules": rules}), [HERE]) is None


@pytest.mark.parametrize("field", ["objectSelector", "excludeResourceRules", "matchPolicy"])
def test_what_else_is_matched_stays(field: str) -> None:
    values: dict[str, Any] = {
        "objectSelector": {"matchLabels": {"a": "b"}},
        "excludeResourceRules": [rule("secrets")],
        "matchPolicy": "Exact",
    }
    held = limited(policy(match={field: values[field]}), [HERE])
    assert held is not None
    assert held["spec"]["matchConstraints"][field] == values[field]


def test_documents_that_are_no_policies_stay() -> None:
    assert limited(pod(), [HERE]) == pod()


def test_the_engine_agrees_on_what_a_limited_policy_matches() -> None:
    written = denying(
        matchConstraints={
            "resourceRules": [EVERYTHING],
            "namespaceSelector": {"matchLabels": {"env": "prod"}},
        }
    )
    held = limited(written, [HERE])
    assert held is not None
    names = [HERE, "shop"]
    namespaces: list[JSONObject] = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": each, "labels": {"kubernetes.io/metadata.name": each}},
        }
        for each in names
    ]
    policies = load(held, *namespaces)

    def allowed(namespace: str) -> bool:
        made = pod()
        made["metadata"]["namespace"] = namespace
        answer = ask(policies, made)
        return bool(answer["allowed"])

    assert [allowed(each) for each in names] == [False, True]
    role: JSONObject = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
    }
    assert ask(policies, role)["allowed"]
    assert ask(policies, namespaces[0])["allowed"]

"""What stored documents mean, and in which order they are written and deleted."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.ownership import owned_by
from policyd.placement.comparing import in_step
from policyd.placement.document_steps import (
    Wanted,
    binding_writes,
    foreign,
    observed,
    parts_in_step,
    policy_writes,
    removals,
    replacing,
    type_warnings,
)
from policyd.placement.placed_documents import Key, key_of, placed_documents
from tests.builders.policies import CONFIG_MAPS, vap, vap_binding

OTHERS = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["policyd"]}
    ]
}
OWNER = {"metadata": {"name": "policyd", "uid": "u1"}}


def pair(name: str = "p", *, spec: JSONObject | None = None, **bound: Any) -> list[JSONObject]:
    """A policy with its binding, as they are placed."""
    bound = {"policyName": name, "matchResources": {"namespaceSelector": OTHERS}, **bound}
    documents = [vap(name, CONFIG_MAPS, **(spec or {})), vap_binding(name, **bound)]
    placed = placed_documents(documents, name, "policyd")
    return [owned_by(each, OWNER) for each in placed]


def stored(*documents: JSONObject) -> dict[Key, JSONObject]:
    """The documents as an API server stores them."""
    found = {}
    for each in copy.deepcopy(documents):
        each["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 1}
        spec = each["spec"]
        if "matchConstraints" in spec:
            spec["failurePolicy"] = "Fail"
            spec["matchConstraints"] |= {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
            }
            for rule in spec["matchConstraints"]["resourceRules"]:
                rule.setdefault("scope", "*")
        else:
            spec["matchResources"] |= {"matchPolicy": "Equivalent", "objectSelector": {}}
        found[key_of(each)] = each
    return found


def wanted(*documents: JSONObject) -> Wanted:
    return {("p", "validate"): documents}


def names(steps: Any) -> list[str]:
    return [f"{each.what} {each.document['kind'][-7:]}" for each in steps]


APPLY = ["apply nPolicy", "apply Binding"]


def test_placed_documents_belong_to_a_namespace() -> None:
    policy, _ = pair()
    [unowned] = placed_documents([vap_binding()], "p", "policyd")
    assert "ownerReferences" not in unowned["metadata"]
    assert policy["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Namespace", "name": "policyd", "uid": "u1"}
    ]


def test_documents_are_written_once() -> None:
    documents = pair()
    assert names(policy_writes(wanted(*documents), {})) == APPLY[:1]
    assert names(binding_writes(wanted(*documents), {})) == [], "its policy comes first"
    first = stored(documents[0])
    assert names(policy_writes(wanted(*documents), first)) == []
    assert names(binding_writes(wanted(*documents), first)) == APPLY[1:]
    both = stored(*documents)
    assert names(policy_writes(wanted(*documents), both)) == []
    assert names(binding_writes(wanted(*documents), both)) == []
    assert parts_in_step(wanted(*documents), both) == {("p", "validate")}
    assert parts_in_step(wanted(*documents), first) == frozenset()
    assert removals(wanted(*documents), both, "policyd") == []


Change = Callable[[JSONObject, JSONObject], Any]
EDITS: dict[str, Change] = {
    "an action": lambda _, binding: binding["spec"].update(validationActions=["Warn"]),
    "a rule": lambda policy, _: policy["spec"]["matchConstraints"].update(resourceRules=[]),
    "an expression": lambda policy, _: policy["spec"]["validations"][0].update(expression="true"),
    "Ignore": lambda policy, _: policy["spec"].update(failurePolicy="Ignore"),
    "a condition": lambda policy, _: policy["spec"].update(
        matchConditions=[{"name": "never", "expression": "false"}]
    ),
    "a selector": lambda policy, _: policy["spec"]["matchConstraints"].update(
        objectSelector={"matchLabels": {"a": ""}}
    ),
    "fewer namespaces": lambda _, binding: binding["spec"]["matchResources"].update(
        namespaceSelector={}
    ),
    "another policy": lambda _, binding: binding["spec"].update(policyName="other"),
    "a label less": lambda policy, _: policy["metadata"].update(labels={}),
    "another source": lambda _, binding: binding["metadata"]["annotations"].update(
        {"policyd.dev/policy": "q"}
    ),
    "no owner": lambda policy, _: policy["metadata"].pop("ownerReferences"),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_by_hand_is_noticed(what: str) -> None:
    documents = pair()
    found = stored(*documents)
    EDITS[what](*found.values())
    assert parts_in_step(wanted(*documents), found) == frozenset()
    written = policy_writes(wanted(*documents), found), binding_writes(wanted(*documents), found)
    assert sum(map(len, map(names, written))) == 1
    assert removals(wanted(*documents), found, "policyd") == [], "it is repaired in place"


def test_defaults_that_are_written_out_make_no_difference() -> None:
    [policy, _] = pair()
    [found] = stored(policy).values()
    explicit: JSONObject = {
        "matchPolicy": "Equivalent",
        "objectSelector": {},
        "namespaceSelector": None,
    }
    policy["spec"]["matchConstraints"] |= explicit
    policy["spec"] |= {"failurePolicy": "Fail", "matchConditions": [], "variables": None}
    assert in_step(found, policy)
    # Labels may be empty strings, and a selector of all params is not the same as none.
    policy["spec"]["matchConstraints"]["objectSelector"] = {"matchLabels": {"a": ""}}
    assert not in_step(found, policy)
    chosen = vap_binding(paramRef={"selector": {}, "parameterNotFoundAction": "Deny"})
    assert not in_step({**chosen, "spec": {**chosen["spec"], "paramRef": {}}}, chosen)


def test_a_policy_and_its_binding_never_change_together() -> None:
    """An API server may see the new binding with the former policy, or the other way round."""
    former, latter = pair(), pair(spec={"validations": [{"expression": "true"}]})
    found = stored(*former)
    assert names(policy_writes(wanted(*latter), found)) == APPLY[:1]
    assert removals(wanted(*latter), found, "policyd") == []
    latter = pair(spec={"validations": [{"expression": "true"}]}, validationActions=["Warn"])
    assert names(policy_writes(wanted(*latter), found)) == []
    assert list(binding_writes(wanted(*latter), found)) == []
    assert names(removals(wanted(*latter), found, "policyd")) == ["delete Binding"]
    found = stored(former[0])
    assert names(policy_writes(wanted(*latter), found)) == APPLY[:1]
    assert names(binding_writes(wanted(*latter), stored(latter[0]))) == APPLY[1:]


def test_what_is_not_wanted_is_deleted_bindings_first() -> None:
    found = stored(*pair())
    assert names(removals({}, found, "policyd")) == ["delete Binding", "delete nPolicy"]
    assert removals({}, found, "policyd", keep=["p"]) == []
    assert removals({}, found, "another") == [], "that of another policyd"
    assert removals({}, stored(vap("own"), pair()[1]), "policyd")[0].document["kind"].endswith("g")
    assert len(removals({}, stored(vap("own"), pair()[1]), "policyd")) == 1


def test_a_document_of_somebody_else_is_left_alone() -> None:
    documents = pair()
    assert foreign(wanted(*documents), {}, "policyd") == {}
    assert foreign(wanted(*documents), stored(*documents), "policyd") == {}
    why = "there is a ValidatingAdmissionPolicy p that this policyd did not place"
    for other in (vap("p"), *placed_documents([vap("p")], "p", "another")):
        found = foreign(wanted(*documents), stored(other), "policyd")
        assert found == {("p", "validate"): why}


def test_a_controller_tells_that_it_has_seen_a_policy() -> None:
    policy, binding = stored(*pair()).values()
    assert not observed([policy, binding])
    policy["status"] = {"observedGeneration": 1, "typeChecking": {}}
    assert observed([policy, binding])
    policy["metadata"]["generation"] = 2
    assert not observed([policy, binding])
    assert type_warnings(policy) == []
    warning = {"fieldRef": "spec.validations[0].expression", "warning": "undefined field"}
    policy["status"]["typeChecking"] = {"expressionWarnings": [warning]}
    assert type_warnings(policy) == ["spec.validations[0].expression: undefined field"]
    warning["warning"] = (
        "/v1, Kind=Pod: ERROR: <input>:1:8: undefined field 'a'\n | object.a + object.b\n"
        " | .......^\nERROR: <input>:1:19: undefined field 'b'\n | ': ERROR: <input>:'\n\n"
        "apps/v1, Kind=Deployment: ERROR: <input>:1:8: undefined field 'a'\n"
    )
    assert type_warnings(policy) == [
        "spec.validations[0].expression: v1 Pod: 1:8: undefined field 'a'\n | object.a + object.b\n"
        " | .......^\n1:19: undefined field 'b'\n | ': ERROR: <input>:'\n\n"
        "apps/v1 Deployment: 1:8: undefined field 'a'"
    ]


def test_a_replacement_keeps_the_marks_of_others() -> None:
    policy, _ = pair()
    [found] = stored(policy).values()
    found["metadata"]["labels"]["team"] = "a"
    found["metadata"]["annotations"]["note"] = "b"
    found["spec"]["failurePolicy"] = "Ignore"
    made = replacing(found, policy)
    assert made["metadata"]["resourceVersion"] == "7"
    assert made["metadata"]["labels"]["team"] == "a"
    assert made["metadata"]["annotations"]["note"] == "b"
    assert in_step(made, policy)

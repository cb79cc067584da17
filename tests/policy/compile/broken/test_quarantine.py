"""What a broken policy matches: all that it may be meant to match, never less."""

import json

import pytest

from policyd._core.match.matcher import MatchInput
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.broken.quarantine import readable_constraints
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.compile.match_rules import match_rules
from policyd.policy.compile.policy_set import CompiledPolicySet, MatchIndex
from policyd.policy.source.loader import load_text
from tests.builders.policies import map_, map_binding, policy, vap, vap_binding
from tests.builders.reviews import request

PODS, SERVICES = request(), request("/v1/services", "Service")
DELETION = request(operation="DELETE")
OTHER_NAME = request(name="other")
DEPLOYMENTS = request("apps/v1/deployments", "Deployment")
EXEC = request(operation="CONNECT", subResource="exec")
RULE: JSONObject = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
}
FORM_ERROR: JSONObject = {"validation": []}


def compiled(*documents: JSONObject, extra: str = "") -> CompiledPolicySet:
    return compile_sources(load_text("\n---\n".join([*map(json.dumps, documents), extra])))


def matches(policies: CompiledPolicySet, sent: JSONObject, webhook: str = "validate") -> bool:
    found = policies.direct[MatchIndex(webhook)].match(MatchInput(sent, lambda _: {"env": "prod"}))
    return bool(found)


@pytest.mark.parametrize(
    ("constraints", "matched", "others"),
    [
        ({"resourceRules": [RULE]}, [PODS], [SERVICES, DELETION, DEPLOYMENTS, EXEC]),
        # A list without its dashes, and a single rule without one.
        ({"resourceRules": RULE}, [PODS], [SERVICES]),
        ({"resourceRules": [{**RULE, "resources": "pods"}]}, [PODS], [SERVICES]),
        ({"resourceRules": [{**RULE, "operations": "CREATE"}]}, [PODS], [DELETION]),
        # Fields that cannot be read.
        ({"resourceRules": [{**RULE, "operations": ["create"]}]}, [PODS, DELETION], [SERVICES]),
        ({"resourceRules": [{**RULE, "operations": None}]}, [PODS, DELETION], [SERVICES]),
        ({"resourceRules": [{**RULE, "operations": 5}]}, [PODS, DELETION], [SERVICES]),
        ({"resourceRules": [{**RULE, "apiVersions": [1]}]}, [PODS], [SERVICES, DELETION]),
        ({"resourceRules": [{**RULE, "resources": []}]}, [PODS, SERVICES], [DEPLOYMENTS]),
        ({"resourceRules": [{**RULE, "resources": [""]}]}, [PODS, SERVICES], [DEPLOYMENTS]),
        (
            {"resourceRules": [{**RULE, "apiGroups": {}, "resources": ["*"]}]},
            [PODS, SERVICES, DEPLOYMENTS],
            [DELETION],
        ),
        ({"resourceRules": [{**RULE, "resourceNames": ["web"]}]}, [PODS], [OTHER_NAME]),
        ({"resourceRules": [{**RULE, "resourceNames": ["a/b"]}]}, [PODS, OTHER_NAME], [SERVICES]),
        ({"resourceRules": [{**RULE, "resourceNames": 7}]}, [PODS, OTHER_NAME], [SERVICES]),
        ({"resourceRules": [{**RULE, "scope": "Cluster"}]}, [], [PODS]),
        ({"resourceRules": [{**RULE, "scope": "namespaced"}]}, [PODS], [SERVICES]),
        ({"resourceRules": [{**RULE, "resource": ["services"]}]}, [PODS], [SERVICES]),
        # Rules that cannot be read at all.
        ({"resourceRules": ["pods"]}, [PODS, SERVICES, DELETION, DEPLOYMENTS, EXEC], []),
        ({"resourceRules": [RULE, None]}, [PODS, SERVICES, DELETION, DEPLOYMENTS, EXEC], []),
        # Excludes and selectors.
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE]}, [], [PODS]),
        (
            {"resourceRules": [RULE], "excludeResourceRules": [{**RULE, "operations": ["Create"]}]},
            [PODS],
            [],
        ),
        ({"resourceRules": [RULE], "excludeResourceRules": ["pods", RULE]}, [], [PODS]),
        ({"resourceRules": [RULE], "excludeResourceRules": "pods"}, [PODS], []),
        (
            {"resourceRules": [RULE], "namespaceSelector": {"matchLabels": {"env": "test"}}},
            [],
            [PODS],
        ),
        ({"resourceRules": [RULE], "namespaceSelector": {"matchLabel": {}}}, [PODS], [SERVICES]),
        (
            {"resourceRules": [RULE], "namespaceSelector": {"matchLabels": {"env": "te st"}}},
            [PODS],
            [SERVICES],
        ),
        ({"resourceRules": [RULE], "objectSelector": []}, [PODS], [SERVICES]),
        ({"resourceRules": [RULE], "matchPolicy": "Fuzzy"}, [PODS], [SERVICES]),
        ({"resourceRules": [RULE], "selector": {}}, [PODS], [SERVICES]),
    ],
)
def test_what_cannot_be_read_matches_more(
    constraints: JSONObject, matched: list[JSONObject], others: list[JSONObject]
) -> None:
    policies = compiled(policy(**{**FORM_ERROR, "matchConstraints": constraints}))
    (broken,) = policies.policies
    assert broken.state == "quarantined"
    assert [matches(policies, each) for each in matched] == [True] * len(matched)
    assert [matches(policies, each) for each in others] == [False] * len(others)


@pytest.mark.parametrize(
    "constraints",
    [
        ...,
        None,
        [],
        "pods",
        {},
        {"resourceRule": [RULE]},
        {"resourceRules": []},
        {"resourceRules": None},
        {"namespaceSelector": {}},
    ],
)
def test_without_readable_constraints_there_is_no_policy(constraints: JSON) -> None:
    policies = compiled(policy("broken", matchConstraints=constraints), policy("good"))
    assert [each.name for each in policies.policies] == ["good"]
    assert any("matchConstraints" in problem.path for problem in policies.problems)


def test_without_a_readable_name_there_is_no_policy() -> None:
    nameless = {**policy(**FORM_ERROR), "metadata": {"name": 5}}
    policies = compiled(nameless, policy("good"))
    assert [each.name for each in policies.policies] == ["good"]


def test_valid_constraints_are_read_as_they_are() -> None:
    constraints: JSONObject = {
        "resourceRules": [{**RULE, "scope": "Namespaced", "resourceNames": ["web"]}],
        "excludeResourceRules": [{**RULE, "apiVersions": ["v2"]}],
        "namespaceSelector": {"matchExpressions": [{"key": "env", "operator": "Exists"}]},
        "objectSelector": {"matchLabels": {"a": "b"}},
        "matchPolicy": "Exact",
    }
    read = readable_constraints({"spec": {"matchConstraints": constraints}})
    assert read is not None
    assert read["resourceRules"] == constraints["resourceRules"]
    assert read["matchPolicy"] == "Exact"
    labelled = {"metadata": {"labels": {"a": "b"}}}
    for sent in (PODS, OTHER_NAME, request(object=labelled), request(name="x", object=labelled)):
        view = MatchInput(sent, lambda _: {"env": "prod"})
        assert bool(match_rules(read).match(view)) == bool(match_rules(constraints).match(view))


@pytest.mark.parametrize(
    ("spec", "webhooks"),
    [
        ({"validation": []}, {"validate"}),
        ({"validations": 5}, {"validate"}),
        ({"mutations": [{"patchType": "Jsonpatch"}]}, {"validate", "mutate"}),
        ({"validations": ..., "mutation": []}, {"validate", "mutate"}),
        ({"validations": ...}, {"validate", "mutate"}),
    ],
)
def test_a_broken_policy_acts_at_each_webhook_that_it_may_be_for(
    spec: JSONObject, webhooks: set[str]
) -> None:
    policies = compiled(policy(**spec))
    assert {name for name in ("validate", "mutate") if matches(policies, PODS, name)} == webhooks


@pytest.mark.parametrize(("value", "matched"), [(True, True), ("yes", True), (False, False)])
def test_a_broken_policy_keeps_pod_controllers(value: JSON, matched: bool) -> None:
    policies = compiled(policy(**FORM_ERROR, podControllers=value))
    template: JSONObject = {"metadata": {}, "spec": {"template": {"spec": {}}}}
    sent = request(object={"kind": "Pod", **template})
    view = MatchInput({**sent, **request("apps/v1/deployments", "Deployment")}, lambda _: {})
    assert bool(policies.controllers[MatchIndex.VALIDATE].match(view)) is matched


BROKEN_VAP, BROKEN_MAP = vap("p", validation=[]), map_("p", mutation=[])
WRONG_BINDING = vap_binding(validationActions=["Refuse"])


@pytest.mark.parametrize(
    ("documents", "extra", "matched"),
    [
        ([BROKEN_VAP, vap_binding()], "", True),
        ([BROKEN_VAP, WRONG_BINDING], "", True),
        ([BROKEN_VAP], "", False),
        ([BROKEN_VAP, vap_binding(policyName="q")], "", False),
        # It may be what binds the policy.
        ([BROKEN_VAP], "kind: [", True),
        ([BROKEN_VAP, vap_binding(policyName=7)], "", True),
        ([BROKEN_VAP, {**vap_binding(), "apiVersion": "v1"}], "", True),
        # A good policy whose binding is broken.
        ([vap("p"), WRONG_BINDING], "", True),
        ([vap("p"), vap_binding("a"), WRONG_BINDING], "", True),
    ],
)
def test_a_broken_policy_or_binding_of_kubernetes_acts_where_it_may_be_bound(
    documents: list[JSONObject], extra: str, matched: bool
) -> None:
    policies = compiled(*documents, extra=extra)
    assert [each.state for each in policies.policies] == ["quarantined"]
    assert matches(policies, PODS) is matched


def test_a_broken_mutating_policy_acts_at_its_webhook() -> None:
    policies = compiled(BROKEN_MAP, map_binding(policyName="p"))
    assert matches(policies, PODS, "mutate") and not matches(policies, PODS, "validate")


def test_the_problem_names_the_field_and_the_binding() -> None:
    (broken,) = compiled(policy(**FORM_ERROR)).policies
    assert 'spec.validation: unknown field "validation"' in broken.problem
    (unbound,) = compiled(vap("p"), WRONG_BINDING).policies
    place = "ValidatingAdmissionPolicyBinding b spec.validationActions[0]: "
    assert unbound.problem.startswith(f'{place}Unsupported value: "Refuse"')


def test_a_mended_binding_ends_the_quarantine() -> None:
    former = compiled(vap("p"), WRONG_BINDING)
    mended = compile_sources(
        load_text("\n---\n".join(map(json.dumps, (vap("p"), vap_binding())))), former
    )
    assert [each.state for each in mended.policies] == ["active"]
    again = compile_sources(
        load_text("\n---\n".join(map(json.dumps, (vap("p"), WRONG_BINDING)))), mended
    )
    assert [each.state for each in again.policies] == ["quarantined"]

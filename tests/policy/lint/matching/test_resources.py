"""Advice on rules that match nothing, in the whole or in part."""

import pytest

from policyd.errors import Fix
from policyd.json_types import JSONObject
from policyd.policy.kinds.served import REMOVED, known_resources
from policyd.policy.lint.all import in_documents
from policyd.policy.lint.matching.resources import advise_rules
from policyd.policy.lint.run import LintRun
from tests.builders.objects import gadget_definition
from tests.builders.policies import policy, rule, vap_binding
from tests.policy_sets import loaded

DEPLOYMENTS = {"apiGroups": ["apps"], "resources": ["deployments"]}
NONE = "no-such-resource"
OLD = "removed-version"

RIGHT: list[tuple[str, JSONObject]] = [
    ("pods", {}),
    ("everything", {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}),
    ("all resources of a group", {"apiGroups": ["apps"], "resources": ["*"]}),
    ("all and their subresources", {"apiGroups": ["apps"], "resources": ["*/*"]}),
    ("a subresource of all", {"apiGroups": ["apps"], "resources": ["*/scale"]}),
    ("all subresources of one", {"resources": ["pods/*"], "operations": ["CONNECT", "CREATE"]}),
    ("exec", {"resources": ["pods/exec"], "operations": ["CONNECT"]}),
    ("eviction", {"resources": ["pods/eviction"], "operations": ["CREATE"]}),
    ("pods and exec", {"resources": ["pods", "pods/exec"], "operations": ["CREATE", "CONNECT"]}),
    ("several groups, each resource in one of them", {
        "apiGroups": ["", "apps"], "resources": ["pods", "deployments"]}),
    ("several versions, each of one of them", {
        "apiGroups": ["autoscaling", "apps"], "apiVersions": ["v1", "v2"],
        "resources": ["deployments", "horizontalpodautoscalers"]}),
    ("a version that is not served by default", {
        "apiGroups": ["networking.k8s.io"], "apiVersions": ["v1beta1"], "resources": ["servicecidrs"]}),
    ("a custom resource", {"apiGroups": ["example.com"], "resources": ["gadgets"]}),
    ("another one of its group", {"apiGroups": ["example.com"], "resources": ["others"]}),
    ("a group that nobody knows", {"apiGroups": ["acme.example.org"], "resources": ["a", "b/c"]}),
    ("a group of an add-on", {"apiGroups": ["gateway.networking.k8s.io"], "resources": ["gateways"]}),
    ("a resource that may be of an unknown group", {
        "apiGroups": ["apps", "acme.example.org"], "resources": ["anvils"], "apiVersions": ["v7"]}),
    ("a scope that fits", {"scope": "Namespaced"}),
    ("cluster scope of namespaces", {"resources": ["namespaces"], "scope": "Cluster"}),
]  # fmt: skip

# The rule, what is told of it and where, and part of message and hint.
WRONG: list[tuple[JSONObject, str, str, str, str]] = [
    ({"apiGroups": ["core"]}, NONE, "apiGroups[0]", "API group 'core' does not exist", 'write apiGroups: [""]'),
    ({"apiGroups": ["apps/v1"]}, NONE, "apiGroups[0]", "API group 'apps/v1' does not exist", "write apps"),
    ({"apiGroups": ["", "rbac"]}, NONE, "apiGroups[1]", "'rbac'", "rbac.authorization.k8s.io?"),
    ({"apiGroups": ["network.k8s.io"]}, NONE, "apiGroups[0]", "", "networking.k8s.io?"),
    ({"apiGroups": ["nowhere"]}, NONE, "apiGroups[0]", "API group 'nowhere' does not exist", ""),
    ({"resources": ["exec"]}, NONE, "resources[0]", "does not exist", "write pods/exec"),
    ({"apiGroups": ["apps"], "resources": ["deployments.apps"]}, NONE, "resources[0]",
     "does not exist", "write deployments; the group belongs in apiGroups: [apps]"),
    ({"apiGroups": ["apps"], "resources": ["apps/deployments"]}, NONE, "resources[0]",
     "does not exist", "write deployments; the group belongs in apiGroups: [apps]"),
    ({"resources": ["apps/v1/deployments"]}, NONE, "resources[0]",
     "does not exist", "write deployments; the group belongs in apiGroups: [apps]"),
    ({"resources": ["v1/pods"]}, NONE, "resources[0]",
     "does not exist", 'write pods; the group belongs in apiGroups: [""]'),
    ({"resources": ["pod"]}, NONE, "resources[0]", "resource 'pod' does not exist in the core group", "write pods"),
    ({"resources": ["Pods"]}, NONE, "resources[0]", "resource 'Pods' does not exist", "write pods"),
    ({"resources": ["deployments"]}, NONE, "resources[0]", "'deployments'", "is in the group apps (apiGroups: [apps])"),
    ({"apiGroups": ["apps"]}, NONE, "resources[0]", "'pods' does not exist in apps", 'is in the core group (apiGroups: [""])'),
    ({"resources": ["configmpas"]}, NONE, "resources[0]", "", "did you mean configmaps?"),
    ({"resources": ["pods/exek"]}, NONE, "resources[0]", "no subresource 'exek'", "exec"),
    ({"resources": ["configmaps/status"]}, NONE, "resources[0]", "'status'", "it has none"),
    ({"resources": ["pods/exec"]}, NONE, "resources[0]", "does not support CREATE or UPDATE", "supports CONNECT"),
    ({"resources": ["pods/log"]}, NONE, "resources[0]", "Kubernetes calls no admission policies", "remove it"),
    ({"operations": ["CREATE", "CONNECT"]}, NONE, "operations[1]", "CONNECT is not supported by pods", "pods/exec"),
    ({"operations": ["CONNECT"], "resources": ["configmaps"]}, NONE, "resources[0]",
     "configmaps does not support CONNECT", "it supports CREATE, DELETE, UPDATE"),
    ({"operations": ["DELETE", "UPDATE"], "resources": ["pods/status"]}, NONE, "operations[0]",
     "DELETE is not supported by pods/status", "supported: UPDATE"),
    ({"scope": "Cluster"}, NONE, "resources[0]", "pods is namespaced", "remove scope"),
    ({"resources": ["nodes"], "scope": "Namespaced"}, NONE, "resources[0]", "is cluster-scoped", ""),
    ({"apiVersions": ["v2"]}, NONE, "apiVersions[0]", "pods: version 'v2' does not exist", "write v1"),
    ({**DEPLOYMENTS, "apiVersions": ["v1", "v3"]}, NONE, "apiVersions[1]", "'v3'", "write v1"),
    ({"apiGroups": ["example.com"], "resources": ["gadgets"], "apiVersions": ["v0"]}, NONE,
     "apiVersions[0]", "version 'v0' does not exist", "write v1"),
    ({"apiGroups": ["example.com"], "resources": ["gadgets/status"]}, NONE, "resources[0]",
     "no subresource 'status'", "none"),
    ({"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"],
      "operations": ["CREATE"]}, NONE, "resources[0]", "Kubernetes calls no admission policies", ""),
    ({**DEPLOYMENTS, "apiVersions": ["v1beta1"]}, OLD, "apiVersions[0]",
     "Kubernetes 1.16 removed deployments from apps/v1beta1", "write apps/v1"),
    ({**DEPLOYMENTS, "apiVersions": ["v1", "v1beta2"]}, OLD, "apiVersions[1]", "", "remove it"),
    ({"apiGroups": ["extensions"], "resources": ["ingresses"], "apiVersions": ["v1beta1"]}, OLD,
     "apiVersions[0]", "1.22 removed ingresses from extensions/v1beta1", "write networking.k8s.io/v1"),
    ({"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "apiVersions": ["v1beta1"]},
     OLD, "apiVersions[0]", "1.25", "write policy/v1"),
    ({"apiGroups": ["policy"], "resources": ["podsecuritypolicies"], "apiVersions": ["v1beta1"]},
     OLD, "apiVersions[0]", "1.25", "remove it"),
    ({"apiGroups": ["batch"], "resources": ["cronjobs"], "apiVersions": ["v1beta1"]},
     OLD, "apiVersions[0]", "1.25", "write batch/v1"),
    ({"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"],
      "apiVersions": ["v2beta2"]}, OLD, "apiVersions[0]", "1.26", "write autoscaling/v2"),
]  # fmt: skip


@pytest.mark.parametrize("changes", [pytest.param(row[1], id=row[0]) for row in RIGHT])
def test_rules_that_match_something(changes: JSONObject) -> None:
    constraints = {"resourceRules": [rule(**changes)], "excludeResourceRules": [rule(**changes)]}
    assert (
        in_documents(
            LintRun(loaded(policy(matchConstraints=constraints), gadget_definition())), advise_rules
        )
        == []
    )


@pytest.mark.parametrize(("changes", "name", "path", "message", "hint"), WRONG)
def test_rules_that_match_nothing(
    changes: JSONObject, name: str, path: str, message: str, hint: str
) -> None:
    constraints = {"resourceRules": [rule(**changes)]}
    sources = loaded(policy(matchConstraints=constraints), gadget_definition())
    assert sources.problems == ()
    (found,) = in_documents(LintRun(sources), advise_rules)
    at = f"spec.matchConstraints.resourceRules[0].{path}"
    assert (found.rule, found.severity, found.path) == (name, "advice", at)
    assert message in found.message
    assert hint in found.hint
    assert found.line > 0


HPA = {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"]}
EXACT: list[tuple[JSONObject, str, str]] = [
    ({**HPA, "apiVersions": ["v2"]}, "Exact", "requests of v1 are not matched"),
    ({**HPA, "apiVersions": ["v2"]}, "Equivalent", ""),
    ({**HPA, "apiVersions": ["v1", "v2"]}, "Exact", ""),
    ({**HPA, "apiVersions": ["*"]}, "Exact", ""),
    ({}, "Exact", ""),
    ({"apiGroups": ["networking.k8s.io"], "resources": ["servicecidrs"]}, "Exact", ""),
    ({"apiGroups": ["acme.example.org"], "resources": ["anvils"]}, "Exact", ""),
]


@pytest.mark.parametrize(("changes", "match_policy", "told"), EXACT)
def test_versions_that_pass_by_exact_rules(
    changes: JSONObject, match_policy: str, told: str
) -> None:
    constraints = {"resourceRules": [rule(**changes)], "matchPolicy": match_policy}
    found = in_documents(LintRun(loaded(policy(matchConstraints=constraints))), advise_rules)
    assert [each.rule for each in found] == (["exact-version"] if told else [])
    assert all(told in each.message for each in found)


def test_excludes_and_bindings_are_looked_at() -> None:
    wrong = rule(resources=["pod"])
    sources = loaded(
        policy(matchConstraints={"resourceRules": [rule()], "excludeResourceRules": [wrong]}),
        vap_binding(matchResources={"resourceRules": [wrong]}),
        vap_binding("whole"),
    )
    assert [each.path for each in in_documents(LintRun(sources), advise_rules)] == [
        "spec.matchConstraints.excludeResourceRules[0].resources[0]",
        "spec.matchResources.resourceRules[0].resources[0]",
    ]


def test_nothing_that_was_removed_is_known() -> None:
    known = known_resources([])
    for group, version, name in REMOVED:
        assert (group, name) not in known or version not in known[group, name].versions


def test_custom_resources_and_their_subresources() -> None:
    version = {"name": "v1", "served": True, "subresources": {"status": {}, "scale": {}}}
    names = {"plural": "things", "kind": "Thing"}
    crd = {"spec": {"group": "a.b", "names": names, "scope": "Cluster", "versions": [version]}}
    found = known_resources([crd])["a.b", "things"]
    assert (found.namespaced, found.subresources) == (False, ("scale", "status"))
    assert found.operations_of("scale") == {"UPDATE"}
    assert found.operations_of("*") == {"CREATE", "UPDATE", "DELETE"}


# Groups, a name that is not the plural, and the plural.
NAMES = [
    ([""], "pod", "pods"),
    ([""], "Pod", "pods"),
    ([""], "Pods", "pods"),
    ([""], "po", "pods"),
    ([""], "cm", "configmaps"),
    ([""], "pod/exec", "pods"),
    (["apps"], "deploy", "deployments"),
    (["networking.k8s.io"], "NetworkPolicy", "networkpolicies"),
    (["example.com"], "gadget", "gadgets"),
    (["example.com"], "Gadget", "gadgets"),
    (["example.com"], "gd", "gadgets"),
    (["example.com", "example.org"], "gadget", "gadgets"),
]


@pytest.mark.parametrize(("groups", "name", "right"), NAMES)
def test_other_names_of_a_resource(groups: list[str], name: str, right: str) -> None:
    gadgets = gadget_definition()
    gadgets["spec"]["names"]["shortNames"] = ["gd"]
    constraints = {
        "resourceRules": [rule(apiGroups=groups, resources=[name], operations=["CREATE"])]
    }
    (found,) = in_documents(
        LintRun(loaded(policy(matchConstraints=constraints), gadgets)), advise_rules
    )
    assert found.rule == NONE
    assert found.hint == f"write {right}: rules name the plural"
    assert found.fix == Fix(name.partition("/")[0], right)


@pytest.mark.parametrize(
    ("group", "fix"),
    [
        ("core", Fix("core", "")),
        ("v1", Fix("v1", "")),
        ("apps/v1", Fix("apps/v1", "apps")),
        ("network.k8s.io", None),
    ],
)
def test_only_certain_corrections_of_groups_are_made(group: str, fix: Fix | None) -> None:
    constraints = {"resourceRules": [rule(apiGroups=[group], resources=["deployments"])]}
    (found,) = in_documents(LintRun(loaded(policy(matchConstraints=constraints))), advise_rules)
    assert found.fix == fix


def test_a_resource_in_another_group_by_its_short_name() -> None:
    constraints = {"resourceRules": [rule(resources=["deploy"])]}
    (found,) = in_documents(LintRun(loaded(policy(matchConstraints=constraints))), advise_rules)
    assert (found.hint, found.fix) == ("deployments is in the group apps (apiGroups: [apps])", None)

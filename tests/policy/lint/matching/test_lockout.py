"""Advice on policies without which nodes or the API server cannot work."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.matching.lockout import VITAL, Vital, advise_lockouts
from policyd.policy.lint.run import LintRun
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions
from tests.builders.policies import MUTATION, VALIDATION, map_, map_binding, policy, rule, vap
from tests.policy_sets import compiled, loaded

NODES = rule("nodes")
CSR = "certificates.k8s.io"
RBAC = "rbac.authorization.k8s.io"


def found_in(*documents: JSONObject) -> list[tuple[str, str]]:
    sources = loaded(*documents)
    assert sources.problems == ()
    found = in_policies(LintRun(sources), advise_lockouts)
    assert all(each.severity == "advice" and each.line and each.hint for each in found)
    return [(each.rule, each.path.rpartition("resourceRules")[2]) for each in found]


LOCKOUT = [("cluster-lockout", "[0].resources[0]")]
WILDCARD = [("wildcard", "[0]")]


@pytest.mark.parametrize("vital", VITAL, ids=lambda each: each.resource)
def test_every_vital_resource_is_reported_unless_its_users_are_exempt(vital: Vital) -> None:
    fine: dict[str, Any] = {}
    if vital.condition:
        fine["matchConditions"] = [{"name": "users", "expression": vital.condition}]
    else:
        fine["failurePolicy"] = "Ignore"
    for name in (vital.resource, *(f"{vital.resource}/{each}" for each in vital.subresources)):
        given = rule(name, group=vital.group)
        assert found_in(policy("p", given)) == LOCKOUT
        assert found_in(policy("p", given, **fine)) == []
        assert found_in(policy("p", rule(name, group="example.com"))) == []


@pytest.mark.parametrize("vital", [each for each in VITAL if each.condition], ids=lambda e: e[1])
def test_the_webhook_has_the_condition_beside_other_policies(vital: Vital) -> None:
    """The API server evaluates it, so that it does not call policyd."""
    condition = {"name": "users", "expression": vital.condition}
    policies = compiled(
        policy("a", rule(vital.resource, group=vital.group), matchConditions=[condition]),
        policy(
            "b",
            rule(vital.resource, group=vital.group, operations=["UPDATE"]),
            matchConditions=[condition],
        ),
        policy("c"),
    )
    [configuration] = render(policies, RenderOptions(url="https://10.0.0.1:8443"))
    [webhook] = configuration["webhooks"]
    assert vital.condition in "".join(each["expression"] for each in webhook["matchConditions"])


def conditions(expression: str, **more: Any) -> JSONObject:
    return policy("p", NODES, matchConditions=[{"name": "c", "expression": expression}], **more)


PARAMS = {"params": {"users": ["x"]}}
ROWS: list[tuple[str, JSONObject, list[tuple[str, str]]]] = [
    ("Fail is the default", policy("p", NODES), LOCKOUT),
    ("fails open", policy("p", NODES, failurePolicy="Ignore"), []),
    ("mutates", policy("p", NODES, mutations=[MUTATION]), LOCKOUT),
    ("only warns", policy("p", NODES, validationActions=["Warn"]), LOCKOUT),
    ("of Kubernetes", vap("p", NODES), LOCKOUT),
    ("one of several", policy("p", rule("pods", "nodes")), [
        ("cluster-lockout", "[0].resources[1]")]),
    ("several", policy("p", rule("nodes"), rule("certificatesigningrequests/*", group=CSR)), [
        ("cluster-lockout", "[0].resources[0]"), ("cluster-lockout", "[1].resources[0]")]),
    ("all of the core group", policy("p", rule("*")), LOCKOUT),
    ("all of it with subresources", policy("p", rule("*/*")), LOCKOUT),
    ("status of all", policy("p", rule("*/status")), LOCKOUT),
    ("once for a resource", policy("p", rule("nodes", "nodes/status")), LOCKOUT),
    ("scale of all", policy("p", rule("*/scale")), []),
    ("in all groups", policy("p", rule("nodes", group="*")), LOCKOUT),
    ("everything", policy("p", rule("*", group="*")), WILDCARD),
    ("everything with subresources", policy("p", rule("*/*", group="*")), WILDCARD),
    ("everything, failing open", policy("p", rule("*/*", group="*"), failurePolicy="Ignore"), []),
    ("another group", policy("p", rule("*", group="apps")), []),
    ("deletes", policy("p", rule("nodes", operations=["DELETE"])), []),
    ("proxies", policy("p", rule("nodes/proxy", operations=["CONNECT"])), []),
    ("any operation", policy("p", rule("nodes", operations=["*"])), LOCKOUT),
    ("namespaced objects only", policy("p", rule("*", scope="Namespaced")), []),
    ("cluster-scoped objects only", policy("p", rule("*", scope="Cluster")), LOCKOUT),
    ("named ones", policy("p", rule("nodes", resourceNames=["a"])), []),
    ("excluded", policy("p", rule("*"), match={
        "excludeResourceRules": [rule("nodes", operations=["*"])]}), []),
    ("excluded on creation", policy("p", rule("*"), match={
        "excludeResourceRules": [rule("nodes", operations=["CREATE"])]}), LOCKOUT),
    ("an excluded one", policy("p", rule("*"), match={
        "excludeResourceRules": [rule("nodes", operations=["*"], resourceNames=["a"])]}), LOCKOUT),
    ("excluded without the status", policy("p", rule("*/*"), match={
        "excludeResourceRules": [rule("nodes", operations=["*"])]}), LOCKOUT),
    ("with a label", policy("p", NODES, match={"objectSelector": {"matchLabels": {"a": "b"}}}), []),
    ("with a label that nodes have", policy("p", NODES, match={"objectSelector": {
        "matchLabels": {"kubernetes.io/os": "linux"}}}), LOCKOUT),
    ("with a label that some nodes have", policy("p", NODES, match={"objectSelector": {
        "matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}}),
        LOCKOUT),
    ("with a label of somebody else, too", policy("p", NODES, match={"objectSelector": {
        "matchLabels": {"kubernetes.io/os": "linux", "example.com/kubernetes.io": "b"}}}), []),
    ("without a label", policy("p", NODES, match={"objectSelector": {
        "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}), LOCKOUT),
    ("of a namespace", policy("p", NODES, match={"namespaceSelector": {
        "matchLabels": {"a": "b"}}}), LOCKOUT),
    ("another condition", conditions("request.operation == 'CREATE'"), LOCKOUT),
    ("a condition about users", conditions("request.userInfo.username != 'a'"), []),
    ("one that no webhook has", conditions(
        "!(request.userInfo.username in params.users)", **PARAMS), LOCKOUT),
    ("Pods", policy("p"), []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "expected"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_advice(document: JSONObject, expected: list[tuple[str, str]]) -> None:
    assert found_in(document) == expected


def test_a_mutating_policy_of_kubernetes() -> None:
    match = {"resourceRules": [NODES]}
    found = found_in(map_(matchConstraints=match, mutations=[MUTATION]), map_binding())
    assert found == LOCKOUT


def test_a_wildcard_names_what_it_includes() -> None:
    [found] = in_policies(
        LintRun(loaded(policy("p", rule("*"), validations=[VALIDATION]))), advise_lockouts
    )
    assert found.message.startswith("'*' includes nodes, and failurePolicy is Fail: while")
    [named] = in_policies(LintRun(loaded(policy("p", NODES))), advise_lockouts)
    assert named.message.startswith("nodes, and failurePolicy is Fail: while")

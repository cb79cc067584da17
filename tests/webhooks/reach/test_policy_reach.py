"""By what each policy is reached, and what is left out."""

import copy
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.reach.reach_result import Reached, ReachedBy
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.builders.policies import (
    EVERYTHING,
    GADGETS,
    PODS,
    labelling,
    policy,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
CHANGED = {"name": "changed", "expression": "oldObject == null || object.?spec != oldObject.?spec"}


def webhook(*rules: JSONObject, path: str = "/validate", **fields: Any) -> JSONObject:
    """A configuration with one validating webhook."""
    kind = "Mutating" if path.startswith("/mutate") else "Validating"
    hook = {"name": "w", "clientConfig": {"url": f"https://h{path}"}, "rules": list(rules)}
    return {
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "c"},
        "webhooks": [{**hook, **fields}],
    }


def found(document: JSONObject, *configurations: JSONObject) -> Reached:
    """Return how one policy is reached."""
    (result,) = reach(compiled(document), configurations)
    return result


def test_everything_rendered_is_reached() -> None:
    policies = compiled(
        policy("a", PODS, podControllers=True, matchConditions=[CHANGED]),
        policy("b", EVERYTHING, failurePolicy="Ignore"),
        policy("c", rule("pods", resourceNames=["x"]), mutations=[labelling("a", "'b'")]),
        vap("p", GADGETS),
        vap_binding(matchResources={"objectSelector": {"matchLabels": {"a": "b"}}}),
    )
    results = reach(policies, render(policies, OPTIONS))
    assert [(each.policy, each.state, each.gaps) for each in results] == [
        (name, "reached", ()) for name in ("a", "b", "c", "p")
    ]
    assert results[1].notes == (
        "validate-ignore.policyd.dev leaves out the namespaces kube-node-lease, kube-system, "
        "policyd",
    )
    kind = "MutatingWebhookConfiguration"
    assert results[2].by == (ReachedBy(kind, "policyd", "mutate-fail.policyd.dev", 0),)


GAPS: list[tuple[str, JSONObject, JSONObject, str, list[str]]] = [
    ("same", policy(), webhook(PODS), "reached", []),
    ("its own path", policy(), webhook(PODS, path="/validate/policy/p"), "reached", []),
    (
        "the path of another policy",
        policy(),
        webhook(PODS, path="/validate/policy/q"),
        "not reached",
        [
            "w has a rule for CREATE, UPDATE of pods, but its path /validate/policy/q does not "
            "evaluate the policy"
        ],
    ),
    (
        "the path for the other failurePolicy",
        policy(failurePolicy="Ignore"),
        webhook(PODS, path="/validate/fail", failurePolicy="Ignore"),
        "not reached",
        [
            "w has a rule for CREATE, UPDATE of pods, but its path /validate/fail does not "
            "evaluate the policy"
        ],
    ),
    (
        "no webhook",
        policy("p", rule("services")),
        webhook(PODS),
        "not reached",
        ["no validating webhook has a rule for CREATE, UPDATE of services"],
    ),
    (
        "another product",
        policy(),
        webhook(PODS, path="/review"),
        "not reached",
        ["no validating webhook has a rule for CREATE, UPDATE of pods"],
    ),
    (
        "a mutation",
        policy("p", mutations=[labelling("a", "'b'")]),
        webhook(PODS),
        "not reached",
        ["no mutating webhook has a rule for CREATE, UPDATE of pods"],
    ),
    (
        "an operation",
        policy("p", rule(operations=["*"])),
        webhook(rule(operations=["CREATE", "UPDATE", "DELETE"])),
        "partly reached",
        ["no validating webhook has a rule for CONNECT of pods"],
    ),
    (
        "a resource of a wildcard",
        policy("p", rule("*")),
        webhook(PODS),
        "not reached",
        ["no validating webhook has a rule for CREATE, UPDATE of *"],
    ),
    ("the scope of Pods", policy(), webhook(rule(scope="Namespaced")), "reached", []),
    (
        "scope",
        policy("p", GADGETS),
        webhook({**GADGETS, "scope": "Namespaced"}),
        "not reached",
        ["no validating webhook has a rule for CREATE, UPDATE of gadgets of example.com"],
    ),
    ("the only version", policy("p", rule(version="*")), webhook(PODS), "reached", []),
    (
        "another version",
        policy("p", GADGETS),
        webhook({**GADGETS, "apiVersions": ["v2"]}),
        "partly reached",
        ["w sends gadgets in version v2, and the policy names v1"],
    ),
    (
        "other versions",
        policy("p", GADGETS),
        webhook(GADGETS, matchPolicy="Exact"),
        "partly reached",
        ["w leaves out other versions of gadgets: its matchPolicy is Exact"],
    ),
    (
        "a namespace that the policy selects",
        policy("p", match={"namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "kube-system"]}
        ]}}),
        webhook(PODS, namespaceSelector={"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
        ]}),
        "partly reached",
        ["w leaves out the namespace kube-system, which the policy selects"],
    ),
    (
        "some namespaces",
        policy(),
        webhook(PODS, namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "a"}}),
        "partly reached",
        ["w calls policyd only for the namespace a"],
    ),
    (
        "labels of namespaces",
        policy(),
        webhook(PODS, namespaceSelector={"matchLabels": {"team": "a"}}),
        "partly reached",
        ["w leaves out namespaces whose label team is not a"],
    ),
    (
        "labels of objects",
        policy(),
        webhook(PODS, objectSelector={"matchExpressions": [
            {"key": "a", "operator": "NotIn", "values": ["x", "y"]},
            {"key": "b", "operator": "Exists"},
        ]}),
        "partly reached",
        [
            "w leaves out objects whose label a is x, y",
            "w leaves out objects whose label b is missing",
        ],
    ),
    (
        "a matchCondition",
        policy(),
        webhook(PODS, matchConditions=[CHANGED]),
        "partly reached",
        ["w leaves out requests for which its matchCondition changed is false"],
    ),
    (
        "a matchCondition of the policy",
        policy("p", matchConditions=[CHANGED]),
        webhook(PODS, matchConditions=[CHANGED]),
        "reached",
        [],
    ),
    ("no binding", vap(), webhook(PODS), "not reached", ["it has no binding"]),
    (
        "never sent",
        policy("p", rule("mutatingwebhookconfigurations", group="admissionregistration.k8s.io")),
        webhook(EVERYTHING),
        "not reached",
        ["the API server sends no request that it matches to webhooks"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "configuration", "state", "gaps"),
    [row[1:] for row in GAPS],
    ids=[r[0] for r in GAPS],
)
def test_gaps(document: JSONObject, configuration: JSONObject, state: str, gaps: list[str]) -> None:
    result = found(document, configuration)
    assert (result.state, list(result.gaps)) == (state, gaps)


def test_a_policy_for_an_excluded_namespace() -> None:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    policies = compiled(policy("p", match={"namespaceSelector": selector}))
    (result,) = reach(policies, render(policies, OPTIONS))
    assert result.gaps == (
        "validate-fail.policyd.dev leaves out the namespace kube-system, which the policy selects",
    )


def test_the_webhook_that_leaves_out_least_counts() -> None:
    narrow = webhook(PODS, objectSelector={"matchLabels": {"a": "b"}})
    other = copy.deepcopy(webhook(rule("services"), PODS))
    other["metadata"]["name"] = "d"
    result = found(policy(), narrow, other)
    assert result.gaps == ()
    assert result.by == (ReachedBy("ValidatingWebhookConfiguration", "d", "w", 1),)


NOTES: list[tuple[JSONObject, JSONObject, str]] = [
    (
        policy(),
        webhook(PODS, failurePolicy="Ignore"),
        "w admits requests while policyd does not answer: its failurePolicy is Ignore, the "
        "policy's is Fail",
    ),
    (
        policy(failurePolicy="Ignore"),
        webhook(PODS, failurePolicy="Fail"),
        "w denies requests while policyd does not answer: its failurePolicy is Fail, the "
        "policy's is Ignore",
    ),
    (
        policy(timeoutSeconds=12.5),
        webhook(PODS, timeoutSeconds=5),
        "w waits 5 s, less than the timeoutSeconds of the policy, 12.5",
    ),
    (
        policy("p", mutations=[labelling("a", "'b'")], reinvocationPolicy="IfNeeded"),
        webhook(PODS, path="/mutate"),
        "w is not called again when a later webhook changes the object",
    ),
]


@pytest.mark.parametrize(("document", "configuration", "note"), NOTES)
def test_notes(document: JSONObject, configuration: JSONObject, note: str) -> None:
    result = found(document, configuration)
    assert (result.state, result.notes) == ("reached", (note,))

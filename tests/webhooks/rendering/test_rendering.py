"""Configurations: their webhooks, rules, timeouts and addresses."""

from typing import Any

import pytest

from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_sources
from policyd.webhooks.rendering.configurations import render
from tests.builders.policies import (
    EVERYTHING,
    PODS,
    labelling,
    map_,
    map_binding,
    policy,
    rule,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled, loaded
from tests.webhooks.rendering.rendered import OPTIONS, only, rendered, short

SERVICES = rule("services")
MUTATION = labelling("x", "'y'")


def test_configuration_of_one_policy() -> None:
    (configuration,) = render(compiled(policy("p", SERVICES)), OPTIONS)
    assert configuration == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": "policyd",
            "labels": {
                "app.kubernetes.io/name": "policyd",
                "app.kubernetes.io/managed-by": "policyd",
            },
        },
        "webhooks": [
            {
                "name": "validate-fail.policyd.dev",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {
                        "namespace": "policyd",
                        "name": "policyd",
                        "path": "/validate/fail",
                        "port": 443,
                    }
                },
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": 10,
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["services"],
                        "scope": "*",
                    }
                ],
                "namespaceSelector": {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/metadata.name",
                            "operator": "NotIn",
                            "values": ["kube-system", "policyd"],
                        }
                    ]
                },
                "objectSelector": {},
            }
        ],
    }


def test_webhooks_for_each_kind_and_failure_policy() -> None:
    webhooks = rendered(
        policy("a"),
        policy("b", failurePolicy="Ignore"),
        policy("c", mutations=[MUTATION]),
        policy("d", mutations=[MUTATION], failurePolicy="Ignore", reinvocationPolicy="IfNeeded"),
    )
    assert {
        name: (each["clientConfig"]["service"]["path"], each["failurePolicy"])
        for name, each in webhooks.items()
    } == {
        "mutate-fail.policyd.dev": ("/mutate/fail", "Fail"),
        "mutate-ignore.policyd.dev": ("/mutate/ignore", "Ignore"),
        "validate-fail.policyd.dev": ("/validate/fail", "Fail"),
        "validate-ignore.policyd.dev": ("/validate/ignore", "Ignore"),
    }
    assert webhooks["mutate-fail.policyd.dev"]["reinvocationPolicy"] == "Never"
    assert webhooks["mutate-ignore.policyd.dev"]["reinvocationPolicy"] == "IfNeeded"


def test_no_policies_need_no_configuration() -> None:
    assert render(compiled(), OPTIONS) == []
    assert render(compiled(vap("p")), OPTIONS) == []  # without a binding it does nothing


RULES: list[tuple[str, list[JSONObject], list[str]]] = [
    ("merged", [policy("a", PODS), policy("b", SERVICES)], ["CREATE|UPDATE pods|services./v1"]),
    (
        "covered by a wildcard",
        [policy("a", PODS), policy("b", rule("*", version="*", operations=["*"]))],
        ["* *./*"],
    ),
    (
        "other operations stay apart",
        [policy("a", PODS), policy("b", rule("services", operations=["DELETE"]))],
        ["CREATE|UPDATE pods./v1", "DELETE services./v1"],
    ),
    (
        "controllers",
        [policy("a", rule(operations=["CREATE", "DELETE"]), podControllers=True)],
        [
            "CREATE replicationcontrollers./*",
            "CREATE|DELETE pods./v1",
            "CREATE daemonsets|deployments|replicasets|statefulsets.apps/*",
            "CREATE cronjobs|jobs.batch/*",
        ],
    ),
    (
        "excluded operations",
        [
            policy(
                "a",
                rule("pods", "services", operations=["CREATE", "UPDATE", "DELETE"]),
                match={"excludeResourceRules": [rule("pods", operations=["DELETE"])]},
            )
        ],
        ["CREATE|UPDATE pods./v1", "CREATE|UPDATE|DELETE services./v1"],
    ),
    (
        "excluded scope",
        [
            policy(
                "a",
                rule("gadgets", group="example.com"),
                match={
                    "excludeResourceRules": [
                        rule("gadgets", group="example.com", scope="Namespaced")
                    ]
                },
            )
        ],
        ["CREATE|UPDATE gadgets.example.com/v1 Cluster"],
    ),
    ("the scope of Pods says nothing", [policy("a", rule(scope="Namespaced"))], [
        "CREATE|UPDATE pods./v1"
    ]),
    (
        "both scopes are every scope",
        [
            policy("a", rule("gadgets", group="example.com", scope="Namespaced")),
            policy("b", rule("gadgets", group="example.com", scope="Cluster")),
        ],
        ["CREATE|UPDATE gadgets.example.com/v1"],
    ),
    (
        "a binding narrows",
        [
            vap("p", rule("*", version="*", group="*", operations=["*"])),
            vap_binding(matchResources={"resourceRules": [rule("pods", operations=["CREATE"])]}),
        ],
        ["CREATE pods./*"],
    ),
    (
        "bindings are joined",
        [
            vap("p", rule("pods", "services")),
            vap_binding("b", matchResources={"resourceRules": [PODS]}),
            vap_binding("c", matchResources={"resourceRules": [SERVICES]}),
        ],
        ["CREATE|UPDATE pods|services./v1"],
    ),
    (
        "a mutation has no DELETE and CONNECT",
        [policy("a", rule("*", operations=["*"]), mutations=[MUTATION])],
        ["CREATE|UPDATE *./v1"],
    ),
    (
        "MutatingAdmissionPolicy",
        [map_("m", rule("pods", operations=["CREATE", "CONNECT"]), mutations=[MUTATION]), map_binding()],
        ["CREATE pods./v1"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "wanted"), [row[1:] for row in RULES], ids=[r[0] for r in RULES]
)
def test_rules(documents: list[JSONObject], wanted: list[str]) -> None:
    assert short(only(*documents)) == wanted


def test_rules_that_match_nothing_need_no_webhook() -> None:
    configurations = rule("*", group="admissionregistration.k8s.io")
    webhooks = rule("validatingwebhookconfigurations", group="admissionregistration.k8s.io")
    reviews = rule("subjectaccessreviews", group="authorization.k8s.io")
    assert rendered(policy("a", webhooks, reviews, rule("pods", scope="Cluster"))) == {}
    excluded = [rule("pods", operations=["*"], scope="Namespaced")]
    assert rendered(policy("a", match={"excludeResourceRules": excluded})) == {}
    assert short(only(policy("a", configurations))) == [
        "CREATE|UPDATE *.admissionregistration.k8s.io/v1"
    ]


def test_exact_only_if_all_are() -> None:
    exact = policy("a", match={"matchPolicy": "Exact"})
    assert only(exact)["matchPolicy"] == "Exact"
    assert only(exact, policy("b"))["matchPolicy"] == "Equivalent"


TIMEOUTS = [(10, None, 10), (10, 0.1, 10), (10, 12.5, 14), (1, 1, 2), (30, 5, 30), (5, 30, 30)]


@pytest.mark.parametrize(("option", "own", "wanted"), TIMEOUTS)
def test_timeout_covers_that_of_the_slowest_policy(
    option: int, own: float | None, wanted: int
) -> None:
    slow = policy("slow", **({} if own is None else {"timeoutSeconds": own}))
    assert only(slow, policy("other"), timeout=option)["timeoutSeconds"] == wanted


def test_url_and_bundle() -> None:
    webhook = only(policy(), service=None, url="https://host:8443/", ca_bundle=b"PEM")
    assert webhook["clientConfig"] == {
        "url": "https://host:8443/validate/fail",
        "caBundle": "UEVN",
    }


def test_gate_of_config_maps() -> None:
    gate = only(policy_configmaps="policyd.dev/policies=true,team in (a, b),!old,x!=y")
    assert gate["name"] == "policies.policyd.dev"
    assert gate["clientConfig"]["service"]["path"] == "/policies/validate"
    assert gate["failurePolicy"] == "Ignore"
    assert short(gate) == ["CREATE|UPDATE|DELETE configmaps./v1 Namespaced"]
    assert gate["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "policyd"}}
    assert gate["objectSelector"] == {
        "matchLabels": {"policyd.dev/policies": "true"},
        "matchExpressions": [
            {"key": "team", "operator": "In", "values": ["a", "b"]},
            {"key": "old", "operator": "DoesNotExist"},
            {"key": "x", "operator": "NotIn", "values": ["y"]},
        ],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "https://x"}, "give either the Service of policyd or its URL"),
        ({"timeout": 31}, "the timeout is 31 s; webhooks have 1 to 30 s"),
        ({"policy_configmaps": "a b"}, "'a b' selects no ConfigMaps: expected a label selector"),
        ({"policy_configmaps": "a=b", "namespace": ""}, "needs policyd's own namespace"),
    ],
)
def test_options_that_cannot_be_rendered(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rendered(policy(), **options)


def test_a_broken_policy_is_called_for_what_it_may_match() -> None:
    broken = compile_sources(loaded(policy("p", SERVICES, validations=[{"expression": "1 +"}])))
    (configuration,) = render(broken, OPTIONS)
    assert short(configuration["webhooks"][0]) == ["CREATE|UPDATE services./v1"]


def test_rendering_does_not_depend_on_the_order_of_documents() -> None:
    documents = [
        policy("a", SERVICES),
        policy("b", matchConditions=[{"name": "c", "expression": "true"}]),
        policy("c", EVERYTHING),
    ]
    assert render(compiled(*documents), OPTIONS) == render(compiled(*reversed(documents)), OPTIONS)

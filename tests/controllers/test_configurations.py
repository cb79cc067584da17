"""What is changed in webhook configurations, and what is never written."""

import base64
from typing import Any

import pytest

from policyd.controllers.certificates.bundles import (
    WebhookAddress,
    complete,
    published,
    with_bundle,
)
from policyd.controllers.registration.configurations import (
    changes,
    differences,
    in_step,
    is_ours,
    replacing,
    uncovered,
    widened,
)
from policyd.json_types import JSONObject
from policyd.managed_fields import shown
from policyd.tls.issuing import new_authority
from policyd.webhooks.validation.defaults import with_defaults

VALIDATING = "ValidatingWebhookConfiguration"
EXCLUDED = ("kube-system", "policyd")
LABELS = {"app.kubernetes.io/managed-by": "policyd"}
NAME = "kubernetes.io/metadata.name"
ONE, TWO, THREE = (new_authority(1e9, 1e9).certificate for _ in range(3))


def namespaces(operator: str, *names: str) -> JSONObject:
    return {"matchExpressions": [{"key": NAME, "operator": operator, "values": list(names)}]}


def ruled(resource: str, *operations: str, group: str = "") -> JSONObject:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": list(operations or ("CREATE",)),
        "resources": [resource],
        "scope": "*",
    }


def webhook(name: str, *rules: JSONObject, **more: Any) -> JSONObject:
    return {
        "name": f"{name}.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "policyd", "namespace": "policyd", "path": "/x"}},
        "sideEffects": "None",
        "rules": list(rules),
        "namespaceSelector": namespaces("NotIn", *EXCLUDED),
        **more,
    }


def configuration(*webhooks: JSONObject, **metadata: Any) -> JSONObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": VALIDATING,
        "metadata": {"name": "policyd", "labels": LABELS, **metadata},
        "webhooks": list(webhooks),
    }


def bundled(found: JSONObject, *bundle: bytes) -> JSONObject:
    """The configuration with a caBundle in each webhook."""
    encoded = base64.b64encode(b"".join(bundle)).decode()
    hooks = [
        {**each, "clientConfig": {**each["clientConfig"], "caBundle": encoded}}
        for each in found["webhooks"]
    ]
    return {**found, "webhooks": hooks}


def stored(found: JSONObject) -> JSONObject:
    """As the API server gives it back."""
    metadata = {**found["metadata"], "uid": "u", "resourceVersion": "7", "generation": 2}
    return {**with_defaults(found), "metadata": metadata}


PODS, JOBS = ruled("pods"), ruled("jobs", group="batch")
FAIL = configuration(webhook("fail", PODS))
BOTH = {
    "matchExpressions": [
        *namespaces("NotIn", "a", "b")["matchExpressions"],
        {"key": "x", "operator": "Exists"},
    ]
}
REVERSED = {
    "matchExpressions": [
        {"key": "x", "operator": "Exists"},
        *namespaces("NotIn", "b", "a")["matchExpressions"],
    ]
}

SAME: list[tuple[str, JSONObject, JSONObject, bool]] = [
    ("defaults are added", stored(FAIL), FAIL, True),
    ("another rule", stored(configuration(webhook("fail", PODS, JOBS))), FAIL, False),
    ("a rule less", stored(FAIL), configuration(webhook("fail", PODS, JOBS)), False),
    ("a webhook more", stored(configuration(webhook("fail", PODS), webhook("x"))), FAIL, False),
    (
        "a matchCondition of another",
        stored(
            configuration(
                webhook("fail", PODS, matchConditions=[{"name": "x", "expression": "false"}])
            )
        ),
        FAIL,
        False,
    ),
    (
        "another order of webhooks",
        stored(configuration(webhook("a"), webhook("b"))),
        configuration(webhook("b"), webhook("a")),
        True,
    ),
    ("a bundle of another", stored(bundled(FAIL, ONE)), FAIL, True),
    ("a bundle is wanted", stored(FAIL), bundled(FAIL, ONE), False),
    ("another bundle", stored(bundled(FAIL, ONE)), bundled(FAIL, TWO), False),
    ("a label is missing", stored({**FAIL, "metadata": {"name": "policyd"}}), FAIL, False),
    (
        "another timeout",
        stored(FAIL),
        configuration(webhook("fail", PODS, timeoutSeconds=3)),
        False,
    ),
    (
        "another order of rules, resources and requirements",
        stored(
            configuration(
                webhook("fail", JOBS, {**PODS, "resources": ["b", "a"]}, namespaceSelector=BOTH)
            )
        ),
        configuration(
            webhook("fail", {**PODS, "resources": ["a", "b"]}, JOBS, namespaceSelector=REVERSED)
        ),
        True,
    ),
    (
        "another order of preferred versions",
        stored(configuration(webhook("fail", PODS, admissionReviewVersions=["v1", "v1beta1"]))),
        configuration(webhook("fail", PODS, admissionReviewVersions=["v1beta1", "v1"])),
        False,
    ),
]


@pytest.mark.parametrize(("found", "wanted", "same"), [row[1:] for row in SAME])
def test_what_is_stored_is_compared_by_its_meaning(
    found: JSONObject, wanted: JSONObject, same: bool
) -> None:
    assert in_step(found, wanted) is same


def managed(found: JSONObject, **fields: str) -> JSONObject:
    """The configuration, with the manager of these fields of its webhook."""
    hook = f'k:{{"name":"{found["webhooks"][0]["name"]}"}}'
    entries = [
        {"manager": manager, "fieldsV1": {"f:webhooks": {hook: {f"f:{field}": {}}}}}
        for field, manager in fields.items()
    ]
    return {**found, "metadata": {**found["metadata"], "managedFields": entries}}


def foreign(**more: Any) -> JSONObject:
    return stored(configuration(webhook("fail", PODS, **more)))


NAMESPACES = {"matchExpressions": [{"key": "control-plane", "operator": "DoesNotExist"}]}


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        pytest.param(
            managed(foreign(timeoutSeconds=5), timeoutSeconds="gke"), [], id="it is not ours"
        ),
        pytest.param(
            managed(foreign(timeoutSeconds=5), timeoutSeconds="policyd"),
            ["webhooks[fail.policyd.dev].timeoutSeconds"],
            id="it is ours",
        ),
        pytest.param(
            foreign(timeoutSeconds=5),
            ["webhooks[fail.policyd.dev].timeoutSeconds"],
            id="nobody knows whose it is",
        ),
        pytest.param(
            managed(foreign(namespaceSelector=NAMESPACES), namespaceSelector="aks"),
            ["webhooks[fail.policyd.dev].namespaceSelector"],
            id="other requests are sent",
        ),
        pytest.param(
            managed(foreign(failurePolicy="Ignore"), failurePolicy="aks"),
            ["webhooks[fail.policyd.dev].failurePolicy"],
            id="requests are decided in another way",
        ),
    ],
)
def test_what_others_set_stays_if_the_same_requests_are_sent(
    found: JSONObject, fields: list[str]
) -> None:
    assert [*map(shown, differences(found, FAIL))] == fields


def test_what_differs_is_named() -> None:
    found = stored(configuration(webhook("other"), labels={}))
    wanted = configuration(webhook("fail", PODS), ownerReferences=[{"uid": "u"}])
    assert [*map(shown, differences(found, wanted))] == [
        "webhooks[fail.policyd.dev]",
        "webhooks[other.policyd.dev]",
        "metadata.labels.app.kubernetes.io/managed-by",
        "metadata.ownerReferences",
    ]


def due(found: JSONObject | None, wanted: JSONObject | None, *, narrow: bool) -> list[Any]:
    there = {} if found is None else {VALIDATING: found}
    target = {} if wanted is None else {VALIDATING: wanted}
    return [each.wanted for each in changes(there, target, narrow=narrow, excluded=EXCLUDED)]


def test_nothing_is_written_where_nothing_changed() -> None:
    for narrow in (True, False):
        assert due(stored(FAIL), FAIL, narrow=narrow) == []
        assert due(None, None, narrow=narrow) == []


def test_what_is_missing_is_written_at_once_and_what_is_too_much_later() -> None:
    both = configuration(webhook("fail", PODS, JOBS))
    assert due(None, FAIL, narrow=False) == [FAIL]
    [more] = due(stored(FAIL), both, narrow=False)
    assert in_step(stored(more), both)
    assert due(stored(both), FAIL, narrow=False) == []
    assert due(stored(both), FAIL, narrow=True) == [FAIL]
    assert due(stored(FAIL), None, narrow=False) == []
    assert due(stored(FAIL), None, narrow=True) == [None]


def test_rules_that_move_are_both_there_for_some_time() -> None:
    other = configuration(webhook("fail", JOBS))
    [written] = due(stored(FAIL), other, narrow=False)
    assert written["webhooks"][0]["rules"] == [JOBS, PODS]
    assert due(stored(written), other, narrow=False) == []
    assert due(stored(written), other, narrow=True) == [other]


WIDENED: list[tuple[JSONObject, JSONObject, JSONObject]] = [
    ({"matchPolicy": "Exact"}, {"matchPolicy": "Exact"}, {"matchPolicy": "Exact"}),
    ({"matchPolicy": "Exact"}, {"matchPolicy": "Equivalent"}, {"matchPolicy": "Equivalent"}),
    ({"matchPolicy": "Equivalent"}, {"matchPolicy": "Exact"}, {"matchPolicy": "Equivalent"}),
    ({"timeoutSeconds": 5}, {"timeoutSeconds": 7}, {"timeoutSeconds": 7}),
    (
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
    ),
    ({"objectSelector": {"matchLabels": {"a": "b"}}}, {}, {"objectSelector": {}}),
    (
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"objectSelector": {"matchLabels": {"a": "c", "d": "e"}}},
        {
            "objectSelector": {
                "matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]
            }
        },
    ),
    (
        {"namespaceSelector": namespaces("NotIn", "kube-node-lease", *EXCLUDED)},
        {},
        {"namespaceSelector": namespaces("NotIn", *EXCLUDED)},
    ),
    (
        {"namespaceSelector": namespaces("In", "a")},
        {},
        {"namespaceSelector": namespaces("NotIn", *EXCLUDED)},
    ),
    (
        {"namespaceSelector": namespaces("In", "a")},
        {"namespaceSelector": namespaces("In", "b")},
        {"namespaceSelector": namespaces("In", "a", "b")},
    ),
]


@pytest.mark.parametrize(("found", "wanted", "expected"), WIDENED)
def test_a_widened_webhook_covers_both(
    found: JSONObject, wanted: JSONObject, expected: JSONObject
) -> None:
    one, other = (configuration(webhook("fail", PODS, **each)) for each in (found, wanted))
    [result] = widened(stored(one), other, EXCLUDED)["webhooks"]
    assert {key: result[key] for key in expected} == expected
    assert result["rules"] == [PODS]


def test_the_gate_of_the_own_namespace_stays_as_it_is() -> None:
    gate = webhook(
        "policies", ruled("configmaps"), namespaceSelector={"matchLabels": {NAME: "policyd"}}
    )
    both = configuration(gate, webhook("fail", PODS))
    assert uncovered(both["webhooks"], ["policyd"]) == []
    assert due(stored(both), both, narrow=False) == []
    [written] = due(stored(both), configuration(gate, webhook("fail", JOBS)), narrow=False)
    assert written["webhooks"][0]["namespaceSelector"] == gate["namespaceSelector"]


def test_conditions_that_differ_are_left_out_for_some_time() -> None:
    condition = [{"name": "a", "expression": "true"}]
    one = configuration(webhook("fail", PODS, matchConditions=condition))
    assert widened(stored(one), one, EXCLUDED)["webhooks"][0]["matchConditions"] == condition
    assert "matchConditions" not in widened(stored(one), FAIL, EXCLUDED)["webhooks"][0]
    assert "matchConditions" not in widened(stored(FAIL), one, EXCLUDED)["webhooks"][0]


def test_what_covers_the_own_namespace_is_never_kept() -> None:
    everywhere = configuration(webhook("fail", ruled("*"), namespaceSelector={}), webhook("b"))
    wide = configuration(webhook("old", ruled("*"), namespaceSelector={}))
    for found in (everywhere, wide):
        written = widened(stored(found), FAIL, EXCLUDED)
        assert uncovered(written["webhooks"], ["policyd"]) == []


def test_a_webhook_for_the_own_namespace_stays_one() -> None:
    """Edits of the ConfigMaps in policyd's namespace are checked, also just after a start."""
    only = namespaces("In", "policyd")
    gate = configuration(webhook("gate", ruled("configmaps"), namespaceSelector=only))
    [result] = widened(stored(gate), gate, EXCLUDED)["webhooks"]
    assert result["namespaceSelector"] == only


COVERED: list[tuple[JSONObject, JSONObject, bool]] = [
    (ruled("pods"), {}, True),
    (ruled("pods/status"), {}, True),
    (ruled("*"), {}, True),
    (ruled("*/*"), {}, True),
    (ruled("*", group="*"), {}, True),
    (ruled("secrets"), {}, True),
    (ruled("leases", group="coordination.k8s.io"), {}, True),
    (ruled("leases", group="*"), {}, True),
    (ruled("configmaps"), {}, False),
    (ruled("deployments", group="apps"), {}, False),
    (ruled("pods", group="metrics.k8s.io"), {}, False),
    ({**ruled("*"), "scope": "Cluster"}, {}, False),
    (ruled("pods"), namespaces("NotIn", "policyd"), False),
    (ruled("pods"), namespaces("NotIn", "other"), True),
    (ruled("pods"), namespaces("In", "other"), False),
    (ruled("pods"), namespaces("In", "other", "policyd"), True),
    (ruled("pods"), {"matchLabels": {NAME: "other"}}, False),
    (ruled("pods"), {"matchLabels": {NAME: "policyd"}}, True),
    (ruled("pods"), {"matchLabels": {"a": "b"}}, True),
    (ruled("pods"), {"matchExpressions": [{"key": NAME, "operator": "DoesNotExist"}]}, False),
    (ruled("pods"), {"matchExpressions": [{"key": NAME, "operator": "Exists"}]}, True),
]


@pytest.mark.parametrize(("covering", "selector", "found"), COVERED)
def test_what_policyd_needs_itself_is_covered_or_not(
    covering: JSONObject, selector: JSONObject, found: bool
) -> None:
    hook = webhook("fail", covering, namespaceSelector=selector)
    assert bool(uncovered([hook], ["policyd"])) is found


def test_a_replacement_keeps_what_others_wrote() -> None:
    there = stored(bundled(FAIL, ONE))
    there["metadata"] |= {"annotations": {"a": "b"}, "labels": {"c": "d"}}
    result = replacing(there, configuration(webhook("fail", JOBS)))
    assert result["metadata"]["resourceVersion"] == "7"
    assert result["metadata"]["annotations"] == {"a": "b"}
    assert result["metadata"]["labels"] == {"c": "d", **LABELS}
    assert "caBundle" in result["webhooks"][0]["clientConfig"]
    assert is_ours(result)
    assert not is_ours(there)


ADDRESS = WebhookAddress("policyd", "policyd")
OTHERS = {"name": "o", "clientConfig": {"service": {"name": "other", "namespace": "policyd"}}}


def test_bundles_are_those_of_webhooks_that_reach_policyd() -> None:
    other = bundled({"webhooks": [OTHERS]}, THREE)
    found = [bundled(FAIL, ONE, TWO), other]
    assert published(found, ADDRESS) == (ONE, TWO)
    assert published([FAIL], ADDRESS) == ()
    assert complete(found, ADDRESS, (ONE,))
    assert not complete(found, ADDRESS, (ONE, THREE))
    assert not complete([FAIL], ADDRESS, (ONE,))
    assert complete([], ADDRESS, (ONE,))
    assert with_bundle(found[0], ADDRESS, (ONE, TWO)) is None
    changed = with_bundle(found[0], ADDRESS, (THREE,))
    assert changed is not None
    assert published([changed], ADDRESS) == (THREE,)
    assert with_bundle(other, ADDRESS, (ONE,)) is None


def test_bundles_by_url() -> None:
    address = WebhookAddress("policyd", "policyd", "https://host:8443/base")
    hooks = [
        {"name": name, "clientConfig": {"url": url}}
        for name, url in (
            ("a", "https://host:8443/base/validate/fail"),
            ("b", "https://host:8443/basement"),
            ("c", "https://other/validate"),
        )
    ]
    changed = with_bundle({"webhooks": hooks}, address, (ONE,))
    assert changed is not None
    assert ["caBundle" in each["clientConfig"] for each in changed["webhooks"]] == [
        True,
        False,
        False,
    ]


def test_a_bundle_that_cannot_be_read_is_replaced() -> None:
    hook = webhook("fail", PODS)
    hook["clientConfig"]["caBundle"] = "eA=="
    broken = configuration(hook)
    assert published([broken], ADDRESS) == ()
    assert not complete([broken], ADDRESS, (ONE,))
    changed = with_bundle(broken, ADDRESS, (ONE,))
    assert changed is not None
    assert complete([changed], ADDRESS, (ONE,))


NAMED = {"app.kubernetes.io/name": "policyd"}
MADE = {"name": "policyd", "labels": NAMED}


@pytest.mark.parametrize(("maker", "made_here"), [("policyd", True), ("Helm", False), ("", False)])
def test_what_manifests_made_is_filled_and_emptied_but_never_deleted(
    maker: str, made_here: bool
) -> None:
    """The label of the maker stays: Helm fails to upgrade what another one labelled."""
    labels = {**NAMED, **({"app.kubernetes.io/managed-by": maker} if maker else {})}
    both = {**NAMED, "app.kubernetes.io/managed-by": "policyd"}
    found = {**configuration(), "metadata": {**MADE, "labels": labels}}
    del found["webhooks"]
    wanted = {**configuration(webhook("a", ruled("pods"))), "metadata": {**MADE, "labels": both}}
    assert is_ours(found)
    (filled,) = changes({VALIDATING: found}, {VALIDATING: wanted}, narrow=False, excluded=EXCLUDED)
    assert filled.wanted is not None
    written = filled.wanted["metadata"]["labels"]
    assert written == (both if made_here else NAMED)
    stored = {**found, "webhooks": with_defaults(filled.wanted)["webhooks"]}
    again = changes({VALIDATING: stored}, {VALIDATING: wanted}, narrow=True, excluded=EXCLUDED)
    assert list(again) == []
    assert not list(changes({VALIDATING: stored}, {}, narrow=False, excluded=EXCLUDED))
    (gone,) = changes({VALIDATING: stored}, {}, narrow=True, excluded=EXCLUDED)
    assert (gone.wanted is None) == made_here
    if gone.wanted is not None:
        assert gone.wanted["webhooks"] == []
        assert gone.wanted["metadata"] == MADE
        assert not list(changes({VALIDATING: found}, {}, narrow=True, excluded=EXCLUDED))


def test_a_configuration_of_somebody_else_is_not_ours() -> None:
    assert not is_ours({**configuration(), "metadata": {"name": "policyd"}})
    assert not is_ours(
        {**configuration(), "metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}}
    )


def test_the_webhook_of_policy_edits_stays_as_it_is() -> None:
    """It is for ConfigMaps of policyd's own namespace, which no other webhook covers."""
    own = {"matchLabels": {NAME: "policyd"}}
    gate = webhook("policies", ruled("configmaps"), namespaceSelector=own)
    found = configuration(webhook("a", ruled("pods")), gate)
    wanted = configuration(webhook("a", ruled("services")), gate)
    made = widened(found, wanted, EXCLUDED)
    (kept,) = (each for each in made["webhooks"] if each["name"] == gate["name"])
    expressions = kept["namespaceSelector"].get("matchExpressions", [])
    assert all(each["operator"] != "NotIn" for each in expressions)
    assert with_defaults(configuration(gate))["webhooks"] == [kept]

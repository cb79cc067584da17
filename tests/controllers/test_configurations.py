"""What is changed in webhook configurations, and what is never written."""

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
    in_step,
    is_ours,
    replacing,
    sends_less,
    uncovered,
    widened,
)
from policyd.json_types import JSONObject
from policyd.webhooks.validation.decoding import with_defaults
from tests.controllers.configured import (
    EXCLUDED,
    FAIL,
    JOBS,
    LABELS,
    NAME,
    ONE,
    PODS,
    THREE,
    TWO,
    VALIDATING,
    bundled,
    configuration,
    namespaces,
    ruled,
    stored,
    webhook,
)


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


@pytest.mark.parametrize(
    "foreign",
    [
        {"namespaceSelector": {}, "objectSelector": {}},
        {"namespaceSelector": namespaces("NotIn", "x")},
        {"rules": [ruled("configmaps"), ruled("services")]},
        {"failurePolicy": "Fail", "matchConditions": [{"name": "a", "expression": "true"}]},
    ],
)
def test_what_others_change_of_the_gate_goes_at_once(foreign: JSONObject) -> None:
    """Edits of the ConfigMaps in policyd's namespace are checked, also just after a start, and no
    other namespace is sent, not even for some seconds.
    """
    own = {"matchLabels": {NAME: "policyd"}}
    gate = webhook("policies", ruled("configmaps"), namespaceSelector=own, failurePolicy="Ignore")
    found = stored(configuration({**gate, **foreign}))
    assert widened(found, configuration(gate), EXCLUDED)["webhooks"] == [
        *with_defaults(configuration(gate))["webhooks"]
    ]


def test_the_leases_of_nodes_are_never_covered() -> None:
    """Otherwise nodes would be lost if policyd stopped while the rules are wider than needed."""
    leases = ruled("leases", group="coordination.k8s.io")
    nodes = namespaces("NotIn", "kube-node-lease", *EXCLUDED)
    one = configuration(webhook("fail", leases, namespaceSelector=nodes))
    for found, wanted in ((one, FAIL), (FAIL, one)):
        [result] = widened(stored(found), wanted, EXCLUDED)["webhooks"]
        assert uncovered([result], ["kube-node-lease", *EXCLUDED]) == []


LESS: list[tuple[JSONObject, bool]] = [
    ({"rules": []}, True),
    ({"rules": [JOBS]}, True),
    ({"rules": [JOBS, PODS]}, False),
    ({"rules": [{**PODS, "operations": ["DELETE"]}]}, True),
    ({"clientConfig": {"url": "https://elsewhere.example/x"}}, True),
    ({"failurePolicy": "Ignore"}, True),
    ({"matchConditions": [{"name": "a", "expression": "false"}]}, True),
    ({"timeoutSeconds": 3}, False),
    ({"reinvocationPolicy": "IfNeeded"}, False),
    ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, True),
    ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, True),
    ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}, False),
    ({"namespaceSelector": namespaces("NotIn", "a", *EXCLUDED)}, False),
]


@pytest.mark.parametrize(("foreign", "less"), LESS)
def test_what_leaves_policies_without_effect_is_known(foreign: JSONObject, less: bool) -> None:
    changed = configuration({**FAIL["webhooks"][0], **foreign})
    assert sends_less(stored(changed), FAIL) is less


def test_a_webhook_that_is_gone_leaves_policies_without_effect() -> None:
    assert sends_less(None, FAIL)
    assert sends_less(stored(configuration()), FAIL)
    assert not sends_less(stored(FAIL), FAIL)
    assert not sends_less(stored(bundled(FAIL, ONE)), FAIL), "the caBundle is another's"
    assert sends_less(stored(bundled(FAIL, ONE)), bundled(FAIL, TWO))


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

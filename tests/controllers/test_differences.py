"""Whether what is stored of a webhook configuration means what is wanted, and who may set what."""

from typing import Any

import pytest

from policyd.controllers.registration.configurations import differences, in_step
from policyd.json_types import JSONObject
from policyd.managed_fields import shown
from tests.controllers.configured import (
    BOTH,
    FAIL,
    JOBS,
    ONE,
    PODS,
    REVERSED,
    TWO,
    bundled,
    configuration,
    stored,
    webhook,
)

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


def turned(value: Any) -> Any:
    """The same value with the keys of its maps in another order, as API servers write them."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value


def test_the_order_of_keys_means_nothing() -> None:
    several = [
        {**PODS, "operations": ["UPDATE"]},
        {**PODS, "apiGroups": ["apps"]},
        {**PODS, "operations": ["CREATE"], "resources": ["services"]},
        JOBS,
    ]
    wanted = configuration(webhook("fail", *several))
    assert differences(turned(stored(wanted)), wanted) == []

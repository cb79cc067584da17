"""No document gets past a policy because policyd cannot read it, with a real API server between them.

A webhook configuration with failurePolicy Ignore admits whatever policyd does not answer with a
decision, so each document here must get one: that of its policies.
"""

import json

import pytest

from tests.builders.objects import widget_definition
from tests.builders.policies import PODS, demand, policy, rule
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.e2e.definitions import Define
from tests.e2e.webhook import DENIED

REVISIONS = rule("controllerrevisions", group="apps")
WIDGETS = rule("widgets", group="e2e.policyd.dev")
NONE = demand("false", "none of these")
# Each is JSON for the API server, which hands it on as it is.
CONTENTS = {
    "plain": '{"a":1}',
    "surrogate": r'{"a":"\ud800"}',
    "surrogate-key": r'{"\udfff":1}',
    "null-character": r'{"a":"\u0000"}',
    "twice": '{"a":1,"a":2}',
    "deep-lists": '{"a":' + "[" * 5_000 + "]" * 5_000 + "}",
    "deep-objects": '{"a":' * 1_100 + "1" + "}" * 1_100,
    "many-lists": '{"a":[' + "[]," * 300_000 + "[]]}",
}


def revision(namespace: str, name: str, content: str) -> tuple[str, bytes]:
    """The path and text of a ControllerRevision, whose data the API server does not look into."""
    text = (
        f'{{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{{"name":"{name}"}},'
        f'"revision":1,"data":{content}}}'
    )
    return f"/apis/apps/v1/namespaces/{namespace}/controllerrevisions", text.encode()


def widget(namespace: str, name: str, content: str) -> tuple[str, bytes]:
    """The path and text of a custom resource whose spec has no schema."""
    text = (
        f'{{"apiVersion":"e2e.policyd.dev/v1","kind":"Widget","metadata":{{"name":"{name}"}},'
        f'"spec":{content}}}'
    )
    return f"/apis/e2e.policyd.dev/v1/namespaces/{namespace}/widgets", text.encode()


@pytest.fixture
def widgets(define: Define) -> None:
    """Custom resources that may hold anything."""
    made = widget_definition()
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = anything
    define(made)


@pytest.mark.parametrize("webhook", ["Fail", "Ignore"])
def test_no_content_of_a_revision_evades_a_policy(
    install: Install, client: Client, namespace: str, webhook: str
) -> None:
    install(policy("none", REVISIONS, validations=[NONE]), webhook={"failurePolicy": webhook})
    answers = {
        name: client.post(*revision(namespace, f"x-{name}", content), dryRun="All")
        for name, content in CONTENTS.items()
    }
    assert not_denied(answers) == {}


@pytest.mark.parametrize("webhook", ["Fail", "Ignore"])
def test_no_content_of_a_custom_resource_evades_a_policy(
    install: Install, client: Client, namespace: str, widgets: None, webhook: str
) -> None:
    install(policy("none", WIDGETS, validations=[NONE]), webhook={"failurePolicy": webhook})
    answers = {
        name: client.post(*widget(namespace, f"x-{name}", content), dryRun="All")
        for name, content in CONTENTS.items()
    }
    assert not_denied(answers) == {}


def not_denied(answers: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """Those that policyd did not deny."""
    denied = json.dumps(DENIED)[1:-1]
    return {
        name: (status, text[:300])
        for name, (status, text) in answers.items()
        if status != 422 or denied not in text
    }


def test_a_policy_that_ignores_errors_admits_what_cannot_be_judged(
    install: Install, client: Client, namespace: str
) -> None:
    """Nor does a policy for something else deny it, under a webhook that fails closed."""
    wanted = demand("object.data.a == 1", "a is not 1")
    install(
        policy("lenient", REVISIONS, validations=[wanted], failurePolicy="Ignore"),
        policy("other", PODS, validations=[NONE]),
    )
    status, text = client.post(*revision(namespace, "x", CONTENTS["plain"]), dryRun="All")
    assert status == 201, text[:300]
    for name in ("surrogate", "deep-lists", "deep-objects"):
        status, text = client.post(*revision(namespace, "x", CONTENTS[name]), dryRun="All")
        assert status in (201, 422), (name, text[:300])
        assert status == 201 or "a is not 1" in text, (name, text[:300])

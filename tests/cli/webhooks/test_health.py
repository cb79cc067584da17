"""How a cluster differs from rendered configurations, and which of its webhooks call policyd."""

import copy
from typing import Any

import pytest

from policyd.cli.webhooks.status import bundle_faults, drift, own_webhooks
from policyd.json_types import JSONObject
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.edit_webhook import GATE
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from policyd.webhooks.validation.decoding import with_defaults
from tests.builders.policies import policy
from tests.policy_sets import compiled

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
(RENDERED,) = render(compiled(policy()), OPTIONS)
KIND = "ValidatingWebhookConfiguration policyd"
HOOK = "validate-fail.policyd.dev"


def stored(**changes: Any) -> JSONObject:
    """The configuration as the API server stores it, with fields of the webhook changed."""
    found = with_defaults(copy.deepcopy(RENDERED))
    found["webhooks"][0]["clientConfig"]["caBundle"] = "UEVN"
    found["webhooks"][0].update(changes)
    return found


def other(**changes: Any) -> JSONObject:
    found = stored()
    found["webhooks"].append({**found["webhooks"][0], "name": "x.policyd.dev", **changes})
    return found


DRIFT: list[tuple[list[JSONObject], list[str]]] = [
    ([stored()], []),
    ([], [f"there is no {KIND}"]),
    ([stored(timeoutSeconds=3)], [f"{HOOK} has another value of timeoutSeconds"]),
    ([stored(rules=[])], [f"{HOOK} has another value of rules"]),
    ([stored(objectSelector={"matchLabels": {"a": "b"}})],
     [f"{HOOK} has another value of objectSelector"]),
    ([stored(matchConditions=[{"name": "a", "expression": "true"}])],
     [f"{HOOK} has another value of matchConditions"]),
    ([stored(name="y.policyd.dev")],
     [f"{KIND} has no webhook {HOOK}", f"{KIND} has the webhook y.policyd.dev, which no policy needs"]),
    ([other()], [f"{KIND} has the webhook x.policyd.dev, which no policy needs"]),
    ([other(name=GATE)], []),
    ([stored(name=GATE)], [f"{KIND} has no webhook {HOOK}"]),
    ([stored(), {**stored(), "kind": "MutatingWebhookConfiguration"}],
     ["MutatingWebhookConfiguration policyd is not needed by any policy"]),
    ([stored(), {**stored(), "kind": "MutatingWebhookConfiguration", "webhooks": []}], []),
    ([stored(), {**stored(), "metadata": {"name": "another"}}], []),
]  # fmt: skip


@pytest.mark.parametrize(("actual", "faults"), DRIFT)
def test_drift(actual: list[JSONObject], faults: list[str]) -> None:
    assert list(drift([RENDERED], actual, "policyd")) == faults


def test_the_webhook_for_edits_belongs_to_no_policy() -> None:
    assert list(drift([], [stored(name=GATE)], "policyd")) == []
    assert list(drift([], [stored()], "policyd")) == [f"{KIND} is not needed by any policy"]


def test_only_webhooks_that_call_policyd_count() -> None:
    foreign = {"service": {"namespace": "cert-manager", "name": "webhook", "path": "/validate"}}
    found = own_webhooks(other(clientConfig=foreign), OPTIONS)
    assert [each["name"] for each in found["webhooks"]] == [HOOK]
    by_url = RenderOptions(url="https://10.0.0.7:8443")
    found = own_webhooks(other(clientConfig={"url": "https://10.0.0.7:8443/validate"}), by_url)
    assert [each["name"] for each in found["webhooks"]] == ["x.policyd.dev"]


def test_a_missing_bundle_is_a_fault() -> None:
    assert list(bundle_faults([stored()])) == []
    assert list(bundle_faults([RENDERED])) == [f"{HOOK} has no caBundle"]

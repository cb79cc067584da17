"""A real API server calls the webhooks that policyd says it calls, in that order, for requests of
every kind.
"""

from collections.abc import Iterator

import pytest

from policyd.versions import KubernetesVersion
from tests.builders.called_rows import OBSERVER, PROD, compare
from tests.builders.objects import config_map
from tests.builders.policies import rule
from tests.e2e.cluster import Cluster
from tests.e2e.live_calls import Live, labelled, live_calls, requests, simple
from tests.e2e.webhook_answers import forget, store
from tests.server.process import until


@pytest.fixture(scope="module")
def live(api: Cluster) -> Iterator[Live]:
    with live_calls(api) as running:
        yield running


EXEMPT_KINDS = {"webhook configuration", "webhook configuration delete"}
REVIEWS = {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview", "TokenReview",
           "SelfSubjectReview"}  # fmt: skip


def test_the_api_server_calls_whom_policyd_says(live: Live) -> None:
    version = KubernetesVersion.parse(live.api.version)
    silent, statuses = set(), {}
    for name, answer in requests(live):
        statuses[name] = answer.status
        row = live.row(name, answer)
        if row is None:
            silent.add(name)
        else:
            compare(row, live.given, version)
    newest = version >= KubernetesVersion(1, 37)
    assert silent == EXEMPT_KINDS | (REVIEWS if newest else set())
    # There is no kubelet to connect to.
    refused = {name for name, status in statuses.items() if status >= 400}
    assert refused == {"broken", "exec", "attach", "port-forward", "proxy"}


def test_a_dry_run_meets_side_effects(live: Live) -> None:
    """Only an old API server accepted such a webhook, so it goes where that one stored it."""
    hook = {
        **live.given[0]["webhooks"][0],
        "name": "effects.example.com",
        "sideEffects": "Some",
        "rules": [rule("configmaps", operations=["CREATE"])],
        "objectSelector": {"matchLabels": {"effects": "yes"}},
        "reinvocationPolicy": "Never",
    }
    thing = labelled(config_map("effects", PROD), effects="yes")
    for number, kind in enumerate(("Mutating", "Validating")):
        configured = simple(
            "admissionregistration.k8s.io/v1", f"{kind}WebhookConfiguration", f"old-{number}"
        )
        client = {**hook["clientConfig"]}
        client["url"] = client["url"].replace(OBSERVER, f"/old-{number}/{hook['name']}")
        fields = {**hook, "clientConfig": client}
        if kind == "Validating":
            del fields["reinvocationPolicy"]
        configured["webhooks"] = [fields]
        store(live.api, configured)
        try:
            live.given.append(configured)
            until(lambda: live.client.create(thing, dryRun="All").status == 400, "the webhook")
            live.recorder.taken()
            for query, status in (({"dryRun": "All"}, 400), ({}, 201)):
                answer = live.client.create(thing, **query)
                row = live.row(kind, answer)
                assert (answer.status, row is None) == (status, False)
                compare(row or {}, live.given, KubernetesVersion.parse(live.api.version))
            live.client.deleted(thing)
        finally:
            live.given.remove(configured)
            forget(live.api, configured)
        until(lambda: live.client.create(thing, dryRun="All").status == 201, "no webhook")
        live.recorder.taken()

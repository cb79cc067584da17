"""Webhooks are called as real API servers called them, in the style of many products.

``python -m tests.e2e.record_calls`` recorded the rows.
"""

import pytest

from policyd.versions import RECORDED, KubernetesVersion
from tests.builders.called_rows import calls_of, compare
from tests.builders.product_webhooks import configurations
from tests.shared import rows

GIVEN = list(configurations("https://127.0.0.1:1", "Z2FyYmFnZQ=="))
ROWS = [(version, row) for version in RECORDED for row in rows(calls_of(str(version)))]


@pytest.mark.parametrize(
    ("version", "row"), ROWS, ids=[f"{version} {row['name']}" for version, row in ROWS]
)
def test_webhooks_are_called_as_recorded(
    version: KubernetesVersion, row: dict[str, object]
) -> None:
    compare(row, GIVEN, version)


def test_every_webhook_is_called_and_left_out_somewhere() -> None:
    every = {
        f"/{each['metadata']['name']}/{hook['name']}" for each in GIVEN for hook in each["webhooks"]
    }
    called = [{path for path, _, _ in row["calls"]} for _, row in ROWS]
    never = every - set[str]().union(*called)
    # Of kinds that are not installed, or exempt.
    assert never == {
        "/cert-manager-webhook/webhook.cert-manager.io",
        "/reviews/admission.reviews.example.com",
    }
    always = set(every).intersection(*called)
    assert always == {"/000-observer/observer.example.com"}

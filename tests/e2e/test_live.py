"""What only the cluster knows when policies load: definitions of custom resources."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.builders import custom_resource_definition, policy, rule
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.e2e.test_authorizer import kubeconfig  # noqa: F401 - a fixture
from tests.server.process import until

GROUP = "live.policyd.dev"


def definition() -> dict[str, Any]:
    made = custom_resource_definition()
    made["metadata"]["name"] = f"widgets.{GROUP}"
    made["spec"]["group"] = GROUP
    return made


@pytest.fixture
def defining(client: Client) -> Iterator[dict[str, Any]]:
    """The definition, not made yet; gone in the end."""
    made = definition()
    yield made
    client.delete(made)


def test_a_definition_made_after_the_start_is_merged_by_its_keys(
    client: Client,
    kubeconfig: object,  # noqa: F811
    namespace: str,
    install: Install,
    defining: dict[str, Any],
) -> None:
    overlay = {"spec": {"parts": [{"name": "b", "size": 7}]}}
    install(
        policy(
            "sized",
            rule("widgets", group=GROUP),
            mutations=[{"patchType": "Overlay", "overlay": overlay}],
        ),
        kubeconfig=str(kubeconfig),
    )
    widget = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace},
        "spec": {"parts": [{"name": "a"}, {"name": "b"}]},
    }
    client.made(defining)
    until(lambda: client.create(widget, dryRun="All").status == 201, "the definition")
    parts = client.made(widget)["spec"]["parts"]
    assert parts == [{"name": "a"}, {"name": "b", "size": 7}]

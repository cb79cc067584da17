"""What is applied and deleted, with an API server that only remembers. The real one is asked in
``tests/e2e/webhook_commands/``.
"""

import copy
from typing import Any

import pytest

from policyd.cli.webhooks.synchronizing import is_ours, synchronized
from policyd.cluster.objects import ObjectError
from policyd.json_types import JSONObject
from policyd.webhooks.configuration_paths import path_of
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.builders.policies import labelling, policy
from tests.policy_sets import compiled

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")
VALIDATING, MUTATING = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
(RENDERED,) = render(compiled(policy()), OPTIONS)
(OTHER,) = render(compiled(policy(mutations=[labelling("a", "'b'")])), OPTIONS)


class Remembering:
    """Stores what is applied, by path."""

    def __init__(self) -> None:
        self.stored: dict[str, JSONObject] = {}
        self.calls: list[str] = []

    def get(self, path: str) -> JSONObject:
        if path not in self.stored:
            raise ObjectError("not found", 404, "NotFound")
        return self.stored[path]

    def apply(
        self, path: str, body: JSONObject, manager: str, *, force: bool, dry_run: bool = False
    ) -> JSONObject:
        self.calls.append(f"apply{' by force' if force else ''}{' dry' if dry_run else ''}")
        made = copy.deepcopy(body)
        made["metadata"] |= {"uid": "u", "managedFields": [{"manager": manager}]}
        if not dry_run:
            self.stored[path] = made
        return made

    def delete(self, path: str, *, uid: str = "", resource_version: str = "") -> JSONObject:
        self.calls.append(f"delete {uid}")
        return self.stored.pop(path)


def outcomes(server: Any, *wanted: JSONObject, **flags: bool) -> list[tuple[str, str]]:
    return [(each.kind, each.what) for each in synchronized(server, wanted, "policyd", **flags)]


def test_created_then_unchanged_then_replaced() -> None:
    server = Remembering()
    assert outcomes(server, RENDERED, dry_run=True) == [(VALIDATING, "created")]
    assert server.stored == {}
    assert outcomes(server, RENDERED) == [(VALIDATING, "created")]
    assert outcomes(server, RENDERED, force=True) == [(VALIDATING, "unchanged")]
    assert outcomes(server, OTHER, dry_run=True) == [(MUTATING, "created"), (VALIDATING, "deleted")]
    assert list(server.stored) == [path_of(VALIDATING, "policyd")]
    assert outcomes(server, OTHER) == [(MUTATING, "created"), (VALIDATING, "deleted")]
    assert list(server.stored) == [path_of(MUTATING, "policyd")]
    assert server.calls == [
        "apply dry",
        "apply",
        "apply by force",
        "apply dry",
        "apply",
        "delete u",
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {}, "managedFields": [{"manager": "policyd"}]},
        {"labels": RENDERED["metadata"]["labels"], "managedFields": [{"manager": "kubectl"}]},
    ],
)
def test_what_is_not_ours_is_left(metadata: JSONObject) -> None:
    server = Remembering()
    found = {**RENDERED, "metadata": {"name": "policyd", "uid": "u", **metadata}}
    assert not is_ours(found)
    server.stored[path_of(VALIDATING, "policyd")] = found
    assert outcomes(server) == [(VALIDATING, "left")]
    assert server.calls == []


def test_the_label_of_another_tool_stays() -> None:
    server = Remembering()
    helm = {"app.kubernetes.io/managed-by": "Helm"}
    for kind in (VALIDATING, MUTATING):
        server.stored[path_of(kind, "policyd")] = {
            "kind": kind,
            "metadata": {"name": "policyd", "labels": helm},
        }
    assert outcomes(server, RENDERED) == [(VALIDATING, "configured")]
    applied = server.stored[path_of(VALIDATING, "policyd")]
    assert applied["metadata"]["labels"] == {"app.kubernetes.io/name": "policyd"}

"""Webhook configurations, valid and invalid in every way that the API server checks. No tests here.

``CASES`` is what ``python -m tests.e2e.record_webhooks`` posts to real API servers.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from policyd.json_types import JSON, JSONObject
from tests.builders.webhook_tops import METADATA, TOPS
from tests.builders.webhook_values import HOOKS

ROWS = Path(__file__).resolve().parent.parent / "webhooks" / "rows"
KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
RULE: JSONObject = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
}
HOOK: JSONObject = {
    "name": "a.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "rules": [RULE],
}


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration to create."""

    name: str
    configuration: JSONObject


def hook(**changes: JSON) -> JSONObject:
    """A valid webhook with changed fields; a field changed to ``...`` is missing."""
    return _changed(HOOK, changes)


def configuration(
    kind: str = KINDS[0], *hooks: JSONObject, name: str = "case", **metadata: JSON
) -> JSONObject:
    """A configuration with these webhooks."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": _changed({"name": name}, metadata),
        "webhooks": list(hooks),
    }


def cases() -> Iterator[Case]:
    """Every case for both kinds."""
    for kind in KINDS:
        short = kind.removesuffix("WebhookConfiguration")
        for name, changes in HOOKS.items():
            listed = changes if isinstance(changes, list) else [changes]
            hooks = [_changed(HOOK, each) for each in listed]
            yield Case(f"{short}: {name}", configuration(kind, *hooks))
        for name, metadata in METADATA.items():
            yield Case(f"{short}: {name}", configuration(kind, deepcopy(HOOK), **metadata))
        for name, fields in TOPS.items():
            base = configuration(kind, deepcopy(HOOK))
            yield Case(f"{short}: {name}", _changed(base, fields))


def rows_of(version: str) -> Path:
    """The file of the rows of a Kubernetes version."""
    return ROWS / f"{version}.jsonl"


def _changed(base: JSONObject, changes: JSONObject) -> JSONObject:
    merged = deepcopy({**base, **changes})
    return {name: value for name, value in merged.items() if value is not ...}


CASES = {each.name: each for each in cases()}

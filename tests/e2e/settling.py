"""Whether the policies and webhooks of a test still decide after it. No tests here."""

from typing import Any

from policyd.json_types import JSONObject
from tests.builders.objects import config_map, container, deployment, pod
from tests.e2e.client import Client
from tests.e2e.rights import role

_LABELS = {"settled": "yes"}
_NAMESPACE: JSONObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "probe"}}
_PROBES = (
    config_map("probe", "default"),
    pod(container(), name="probe", namespace="default"),
    deployment(container(), name="probe", namespace="default"),
    role("probe"),
    _NAMESPACE,
)


def undecided(client: Client) -> bool:
    """Whether nothing refuses or changes common objects.

    What was deleted decides a moment longer: the API server reads policies and webhooks from a cache.
    """
    return all(_is_admitted(client, probe) for probe in _PROBES)


def _is_admitted(client: Client, probe: JSONObject) -> bool:
    metadata = {**probe["metadata"], "labels": _LABELS}
    answer = client.create({**probe, "metadata": metadata}, dryRun="All")
    stored: dict[str, Any] = answer.body.get("metadata", {})
    labels = {
        key: value
        for key, value in stored.get("labels", {}).items()
        if key != "kubernetes.io/metadata.name"
    }
    changed = labels != _LABELS or "annotations" in stored or "data" in answer.body
    return answer.status == 201 and not changed and not answer.warnings

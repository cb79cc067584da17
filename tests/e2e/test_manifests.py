"""The API server takes every manifest of deploy/ under its strictest checks, without a warning."""

from collections.abc import Iterator
from typing import Any

import jsonpatch
import pytest
import yaml

from policyd.json_types import JSONObject
from tests.e2e.builders import documents
from tests.e2e.client import APPLY, Client
from tests.shared import ROOT

BASE = ROOT / "deploy" / "base"
OVERLAY = ROOT / "deploy" / "overlays" / "cert-manager"
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
FILES = documents(BASE / "kustomization.yaml")[0]["resources"]
MANIFESTS = [each for name in FILES for each in documents(BASE / name)]
KINDS = [each["kind"] for each in MANIFESTS]


@pytest.fixture(name="home")
def _home(client: Client) -> Iterator[JSONObject]:
    """The Namespace of the base, with all that it demands of pods."""
    (namespace,) = (each for each in MANIFESTS if each["kind"] == "Namespace")
    if client.get(namespace).status == 404:
        client.made(namespace)
    yield namespace


@pytest.mark.parametrize("manifest", MANIFESTS, ids=KINDS)
def test_each_manifest_is_accepted(client: Client, home: JSONObject, manifest: JSONObject) -> None:
    applied = client.patch(manifest, manifest, APPLY, fieldManager="kubectl", **STRICT)
    assert (applied.status, applied.warnings) in ((200, ()), (201, ())), applied.body
    if manifest != home:
        created = client.create(manifest, **STRICT)
        assert (created.status, created.warnings) == (201, ()), created.body


def test_the_pods_of_the_deployment_are_admitted(client: Client, home: JSONObject) -> None:
    """By the Pod Security Standard of their own namespace, and with their priority."""
    (deployment,) = (each for each in MANIFESTS if each["kind"] == "Deployment")
    template: dict[str, Any] = deployment["spec"]["template"]
    metadata = {"generateName": "policyd-", "namespace": home["metadata"]["name"]}
    labels = template["metadata"]["labels"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "labels": labels}}
    answer = client.create({**pod, "spec": template["spec"]}, **STRICT)
    assert (answer.status, answer.warnings) == (201, ()), answer.body
    assert answer.body["spec"]["priority"] == 2_000_000_000


def test_configurations_of_the_overlay_are_accepted(client: Client) -> None:
    """Its own two objects are cert-manager's and need that to be installed."""
    (kustomization,) = documents(OVERLAY / "kustomization.yaml")
    (patch,) = kustomization["patches"]
    patched = [each for each in MANIFESTS if each["kind"].endswith("WebhookConfiguration")]
    assert len(patched) == 2
    for manifest in patched:
        changed = jsonpatch.apply_patch(manifest, yaml.safe_load(patch["patch"]))
        answer = client.create(changed, **STRICT)
        assert (answer.status, answer.warnings) == (201, ()), answer.body
        assert answer.body["metadata"]["annotations"]

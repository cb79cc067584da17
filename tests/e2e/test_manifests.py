"""The API server takes every manifest of deploy/ under its strictest checks, without a warning."""

from collections.abc import Iterator
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.deploy import rendering
from tests.e2e.builders import documents
from tests.e2e.client import APPLY, Client
from tests.e2e.kubectl import Kubectl
from tests.shared import ROOT

BASE = ROOT / "deploy" / "base"
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
FILES = documents(BASE / "kustomization.yaml")[0]["resources"]
MANIFESTS = [each for name in FILES for each in documents(BASE / name)]
# Only privileged namespaces may have such Pods; ours demands the strictest level.
WARNED = {
    "network of nodes": 'Warning: would violate PodSecurity "restricted:latest": host namespaces'
    " (hostNetwork=true)\n"
}
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


@pytest.mark.parametrize("profile", rendering.PROFILES)
def test_objects_of_the_chart_are_accepted(
    client: Client, home: JSONObject, profile: str, kubectl: Kubectl
) -> None:
    """`kubectl apply --dry-run=server`: those of cert-manager need its definitions."""
    values = rendering.PROFILES[profile]
    objects = [*rendering.chart(*values), *rendering.pods_of_the_test(*values, release="policyd")]
    wanted = [each for each in objects if "cert-manager.io" not in each["apiVersion"]]
    dry_run(kubectl, wanted, WARNED.get(profile, ""))


@pytest.mark.parametrize("folder", ["base", "overlays/default", "overlays/cert-manager"])
def test_objects_of_the_kustomizations_are_accepted(
    client: Client, home: JSONObject, folder: str, kubectl: Kubectl
) -> None:
    objects = rendering.kustomized(folder)
    dry_run(kubectl, [each for each in objects if "cert-manager.io" not in each["apiVersion"]])


def dry_run(kubectl: Kubectl, objects: list[JSONObject], warning: str = "") -> None:
    arguments = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    status, printed, complaints = kubectl.printed(*arguments, sent=listed)
    assert (status, complaints) == (0, warning), complaints
    assert len(printed.splitlines()) == len(objects)


def test_a_configuration_without_webhooks_stays_filled_when_it_is_applied_again(
    client: Client, kubectl: Kubectl, request: pytest.FixtureRequest
) -> None:
    """The manifests make it empty, policyd fills it, and nobody takes away what the other wrote."""
    (empty,) = (
        each for each in rendering.chart() if each["kind"] == "ValidatingWebhookConfiguration"
    )
    empty["metadata"]["name"] = "filled"
    request.addfinalizer(lambda: client.deleted(empty))
    webhook = {
        "name": "a.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/validate"},
        "sideEffects": "None",
        "rules": [],
    }
    for options in (["--server-side", "--field-manager=helm"], []):
        for again in range(2):
            status, _, complaints = kubectl.printed("apply", *options, "-f", "-", sent=empty)
            assert (status, complaints) == (0, "")
            if not again:
                filled = {**empty, "metadata": {"name": "filled"}, "webhooks": [webhook]}
                answer = client.patch(empty, filled, APPLY, fieldManager="policyd")
                assert answer.status == 200, answer.body
        assert [each["name"] for each in client.get(empty).body["webhooks"]] == ["a.policyd.dev"]
        client.deleted(empty)

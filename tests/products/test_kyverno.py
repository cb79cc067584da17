"""``policyd compare`` beside the real Kyverno, with policies of its own library."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import container, deployment, pod
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.products.comparing import capture, compared, counts, imported, silenced
from tests.products.running import documents, kyverno, namespace
from tests.server.process import until
from tests.shared import ROOT

LIBRARY = ROOT / "tests/importers/data/kyverno"
POLICIES = (
    "best-practices/disallow-latest-tag", "best-practices-vpol/restrict-node-port",
    "other/add-default-resources", "other-mpol/add-labels",
)  # fmt: skip
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
PLURALS = {
    "ClusterPolicy": "clusterpolicies",
    "ValidatingPolicy": "validatingpolicies",
    "MutatingPolicy": "mutatingpolicies",
}


@pytest.fixture(scope="module")
def product(api: Cluster, client: Client, logs: Path) -> Iterator[str]:
    with kyverno(api, client, logs) as at:
        yield at


def enforced(policy: JSONObject) -> JSONObject:
    """The same policy, which denies."""
    spec = policy["spec"]
    if policy["kind"] == "ValidatingPolicy":
        spec["validationActions"] = ["Deny"]
    elif any("validate" in each for each in spec.get("rules", [])):
        spec["validationFailureAction"] = "Enforce"
    return policy


def hooks(client: Client) -> list[JSONObject]:
    """The configurations that Kyverno registered."""
    base = "/apis/admissionregistration.k8s.io/v1"
    return [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, **item}
        for path, kind in zip(CONFIGURATIONS, KINDS, strict=True)
        for item in client.send("GET", f"{base}/{path}").body["items"]
    ]


KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def sources(client: Client, product: str) -> list[JSONObject]:
    """Policies that Kyverno enforces."""
    made = []
    namespace(client, "shop")
    for folder in POLICIES:
        (policy,) = [enforced(each) for each in documents(LIBRARY / folder)]
        path = f"/apis/{policy['apiVersion']}/{PLURALS[policy['kind']]}"
        answer = client.send("POST", path, policy)
        assert answer.status == 201, answer.message
        made.append(policy)
    until(lambda: len(_webhooks(client)) == len(POLICIES), "webhooks for all policies")
    return made


def _webhooks(client: Client) -> set[str]:
    """The webhooks for objects: one each for rules and for CEL that mutate and that validate."""
    return {
        hook["name"]
        for each in hooks(client)
        if each["metadata"]["name"].startswith("kyverno-resource-")
        for hook in each.get("webhooks", [])
    }


def test_decisions_are_equal(client: Client, sources: list[JSONObject], tmp_path: Path) -> None:
    images = ("nginx", "nginx:latest", "nginx:1.29", "nginx@sha256:" + "a" * 64)
    pods = [
        pod(container(image=image), name=f"web-{number}") for number, image in enumerate(images)
    ]
    workload = deployment(name="shop")
    workload["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:latest"
    services = [
        {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": kind.lower()},
            "spec": {"type": kind, "ports": [{"port": 80}]},
        }
        for kind in ("NodePort", "ClusterIP")
    ]  # fmt: skip
    captures = capture(tmp_path, [*pods, workload, *services])
    policies = imported(tmp_path, sources)
    report = compared(captures, policies, hooks(client))
    assert not report["results"], json.dumps(report["results"], indent=1)
    assert counts(report) == {
        "add-default-resources/add-default-requests": {"equal": 5},
        "add-labels/": {"equal": 6},
        "disallow-latest-tag/require-image-tag": {"equal": 5},
        "disallow-latest-tag/validate-image-tag": {"equal": 5},
        "restrict-nodeport/": {"equal": 2},
    }
    report = compared(captures, silenced(policies), hooks(client))
    assert {(each["outcome"], each["rule"]) for each in report["results"]} == {
        ("looser", "require-image-tag"), ("looser", "validate-image-tag"), ("looser", ""),
    }  # fmt: skip

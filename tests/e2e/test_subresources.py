"""The API server takes the patches of subresources: scale, status, eviction, binding and others."""

from typing import Any

import pytest

from tests.builders.objects import pod
from tests.builders.policies import json_patch, policy, rule
from tests.e2e.client import Client
from tests.e2e.conftest import Install

ANNOTATE = (
    "[has(object.metadata.annotations)"
    " ? JSONPatch{op: 'add', path: '/metadata/annotations/seen', value: 'yes'}"
    " : JSONPatch{op: 'add', path: '/metadata/annotations', value: {'seen': 'yes'}}]"
)
CAP = "object.spec.replicas > 3 ? [JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}] : []"
DEBUG = (
    "object.spec.?ephemeralContainers.orValue([]).size() > 0"
    " ? [JSONPatch{op: 'add', path: '/spec/ephemeralContainers/0/tty', value: true}] : []"
)


@pytest.fixture
def mutating(install: Install) -> None:
    scales = rule("deployments/scale", "statefulsets/scale", group="apps")
    pods = rule("pods/status", "pods/eviction", "pods/binding", "pods/resize")
    install(
        policy("cap", scales, mutations=[json_patch(CAP)]),
        policy("annotate", pods, mutations=[json_patch(ANNOTATE)]),
        policy("debug", rule("pods/ephemeralcontainers"), mutations=[json_patch(DEBUG)]),
    )


@pytest.mark.usefixtures("mutating")
def test_patches_of_subresources_are_taken(client: Client, namespace: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": "web", "namespace": namespace}
    client.made({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": 9},
    }
    deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    answer = client.send("PUT", f"{deployment}/scale", scale)
    assert (answer.status, answer.body["spec"]["replicas"]) == (200, 3), answer

    made = client.made(pod(name="p", namespace=namespace))
    at = f"/api/v1/namespaces/{namespace}/pods/p"
    status = client.send("PUT", f"{at}/status", {**made, "status": {"message": "here"}})
    assert (status.status, status.body["status"]["message"]) == (200, "here"), status

    debugged = client.send("GET", at).body
    debugged["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "busybox"}]
    answer = client.send("PUT", f"{at}/ephemeralcontainers", debugged)
    assert answer.status == 200, answer
    assert answer.body["spec"]["ephemeralContainers"][0]["tty"] is True

    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    assert client.send("POST", f"{at}/binding", binding).status == 201
    # What a Binding is annotated with comes to the Pod.
    assert client.send("GET", at).body["metadata"]["annotations"]["seen"] == "yes"

    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    answer = client.send("POST", f"{at}/eviction", eviction)
    assert answer.status == 201, answer

"""What the mutations of the library make together of an object, the API server accepts."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.e2e.client import Client, path_of
from tests.e2e.conftest import Install
from tests.shared import ROOT

LABELS = {"example.com/node-pool": "batch", "example.com/team": "bakery"}
READ_ONLY = {"securityContext": {"readOnlyRootFilesystem": True}}
GPU = {"name": "gpu", "image": "gpu", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
APP: JSONObject = {
    "initContainers": [
        {"name": "setup", "image": "setup@sha256:" + "0" * 64, **READ_ONLY},
        {"name": "proxy", "image": "quay.io/proxy:1", "restartPolicy": "Always"},
    ],
    "containers": [{"name": "web", "image": "registry.example.com/web:1", **READ_ONLY}, GPU],
    "volumes": [{"name": "model", "image": {"reference": "registry.k8s.io/model:1"}}],
}


def context(**fields: Any) -> JSONObject:
    """A pod of one container with a security context."""
    return {"containers": [{"name": "app", "image": "app", "securityContext": fields}]}


SPECS: dict[str, JSONObject] = {
    "app": APP,
    "least": {"containers": [{"name": "app", "image": "app"}]},
    "windows": {**APP, "os": {"name": "windows"}, "initContainers": [], "containers": [GPU]},
    "privileged": context(privileged=True),
    "sys-admin": context(capabilities={"add": ["SYS_ADMIN"]}),
    "cap-sys-admin": context(capabilities={"add": ["CAP_SYS_ADMIN"]}),
    "host-network": {**APP, "hostNetwork": True, "hostPID": True},
    "host-users": {**APP, "hostUsers": False},
    "whole": {**APP, "resources": {"limits": {"memory": "100Mi"}}, "containers": APP["containers"]},
    "small": {
        "containers": [
            {"name": "app", "image": "app", "resources": {"limits": {"cpu": "1m", "memory": "1Mi"}}}
        ]
    },
    "scheduled": {**APP, "nodeName": "a", "nodeSelector": {"disk": "ssd"}},
    "tmp": {
        "containers": [
            {"name": "app", "image": "app", **READ_ONLY, "volumeMounts": [
                {"name": "writable-tmp", "mountPath": "/var"}]},
        ],
        "volumes": [{"name": "writable-tmp", "emptyDir": {"medium": "Memory"}}],
    },
}  # fmt: skip


@pytest.fixture(name="made_by_all")
def _made_by_all(install: Install, namespace: str) -> None:
    """All of them serve the test's namespace, and know its labels."""
    known = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": LABELS},
    }
    install(ROOT / "policies" / "mutation", known)


def metadata(namespace: str, name: str) -> JSONObject:
    return {
        "name": name,
        "namespace": namespace,
        "labels": {"app": name},
        "annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""},
    }


@pytest.mark.usefixtures("made_by_all")
def test_pods_through_all_mutations_are_accepted(client: Client, namespace: str) -> None:
    for name, spec in SPECS.items():
        thing = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata(namespace, name),
            "spec": spec,
        }
        made = client.made(thing)
        assert "annotations" not in made["metadata"]
        assert made["metadata"]["labels"]["example.com/team"] == "bakery"
        assert len(made["spec"]["topologySpreadConstraints"]) == 2
        # What is stored is updated as it is: nothing of it is mutated in a way that is refused.
        made["metadata"]["labels"]["new"] = name
        assert client.replace(made).status == 200


@pytest.mark.usefixtures("made_by_all")
def test_a_pod_has_what_each_mutation_is_for(client: Client, namespace: str) -> None:
    thing = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(namespace, "web"),
        "spec": APP,
    }
    spec = client.made(thing)["spec"]
    mirrored = {
        "setup": "mirror.example.com/docker.io/library/setup@sha256:" + "0" * 64,
        "proxy": "mirror.example.com/quay.io/proxy:1",
        "web": "registry.example.com/web:1",
        "gpu": "mirror.example.com/docker.io/library/gpu",
    }
    containers = [*spec["initContainers"], *spec["containers"]]
    assert {each["name"]: each["image"] for each in containers} == mirrored
    volume = {"reference": "mirror.example.com/k8s/model:1", "pullPolicy": "Always"}
    assert spec["volumes"][0]["image"] == volume
    assert {each["imagePullPolicy"] for each in containers} == {"Always"}
    assert all(each["resources"]["limits"]["memory"] == "256Mi" for each in containers)
    mounts = {
        each["name"]: [mount["subPath"] for mount in each.get("volumeMounts", ())]
        for each in containers
    }
    assert mounts == {"setup": ["setup"], "proxy": [], "web": ["web"], "gpu": []}
    assert spec["nodeSelector"] == {"example.com/node-pool": "batch"}
    assert spec["imagePullSecrets"] == [{"name": "registry-credentials"}]
    keys = [each["key"] for each in spec["tolerations"]]
    assert keys.count("nvidia.com/gpu") == 1


@pytest.mark.usefixtures("made_by_all")
def test_a_debug_container_is_added_beside_those_that_are_there(
    client: Client, namespace: str
) -> None:
    thing = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(namespace, "web"),
        "spec": APP,
    }
    made = client.made(thing)
    debuggers: list[JSONObject] = []
    for name in ("first", "second"):
        debuggers.append({"name": name, "image": "busybox", "imagePullPolicy": "IfNotPresent"})
        change = {"spec": {"ephemeralContainers": debuggers}}
        made = client.send(
            "PATCH",
            path_of(thing) + "/ephemeralcontainers",
            change,
            "application/strategic-merge-patch+json",
        ).body
        debuggers = made["spec"]["ephemeralContainers"]
    found = {each["name"]: (each["image"], each["imagePullPolicy"]) for each in debuggers}
    image = ("mirror.example.com/docker.io/library/busybox", "Always")
    assert found == {"first": image, "second": image}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
@pytest.mark.usefixtures("made_by_all")
def test_a_template_is_changed_for_daemon_sets_only(
    client: Client, namespace: str, kind: str
) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": APP}
    thing = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": metadata(namespace, "web"),
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    made = client.made(thing)
    spec = made["spec"]["template"]["spec"]
    if kind == "DaemonSet":
        assert spec.pop("nodeSelector") == {"example.com/node-pool": "batch"}
        (toleration,) = spec.pop("tolerations")
        assert toleration["key"] == "nvidia.com/gpu"
    assert "nodeSelector" not in spec
    assert "tolerations" not in spec
    images = [each["image"] for each in (*spec["initContainers"], *spec["containers"])]
    assert images == [each["image"] for each in (*APP["initContainers"], *APP["containers"])]
    # An update finds nothing more to do: no new generation, so no pods are made anew.
    stored = client.get(made).body
    assert client.replace(stored).body["metadata"]["generation"] == 1

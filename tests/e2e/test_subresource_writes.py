"""What a write to a subresource changes of the object, and that the library protects it there too."""

from contextlib import closing
from functools import partial
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.kinds.subresources import subresources_named
from tests.e2e.client import MERGE, Client, path_of
from tests.e2e.conftest import Install
from tests.policies.subresources import METADATA_WRITES
from tests.server.process import until
from tests.shared import ROOT

POD: JSONObject = {"containers": [{"name": "c", "image": "i"}]}
LABELS = {"a": "b"}
TEMPLATE: JSONObject = {"metadata": {"labels": LABELS}, "spec": POD}
SELECTED: JSONObject = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
JOB: JSONObject = {"template": {"spec": {**POD, "restartPolicy": "Never"}}, "suspend": True}
STORAGE: JSONObject = {"accessModes": ["ReadWriteOnce"]}
RULES: JSONObject = {
    "scope": "Namespaced",
    "group": "writes.example.com",
    "names": {"plural": "gauges", "singular": "gauge", "kind": "Gauge", "listKind": "GaugeList"},
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            },
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                },
            },
        }
    ],
}
# (group, resource) -> apiVersion, kind, spec, whether it is in a namespace, its subresources
KINDS: dict[tuple[str, str], tuple[str, str, JSONObject, bool, str]] = {
    ("", "namespaces"): ("v1", "Namespace", {}, False, "status finalize"),
    ("", "nodes"): ("v1", "Node", {}, False, "status"),
    ("", "persistentvolumes"): (
        "v1",
        "PersistentVolume",
        {**STORAGE, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/tmp/a"}},
        False,
        "status",
    ),
    ("", "persistentvolumeclaims"): (
        "v1",
        "PersistentVolumeClaim",
        {**STORAGE, "resources": {"requests": {"storage": "1Gi"}}},
        True,
        "status",
    ),
    ("", "pods"): ("v1", "Pod", POD, True, "status ephemeralcontainers resize"),
    ("", "replicationcontrollers"): (
        "v1",
        "ReplicationController",
        {"selector": LABELS, "template": TEMPLATE},
        True,
        "status",
    ),
    ("", "resourcequotas"): ("v1", "ResourceQuota", {"hard": {"pods": "9"}}, True, "status"),
    ("", "services"): ("v1", "Service", {"ports": [{"port": 80}]}, True, "status"),
    ("apps", "daemonsets"): ("apps/v1", "DaemonSet", SELECTED, True, "status"),
    ("apps", "deployments"): ("apps/v1", "Deployment", SELECTED, True, "status"),
    ("apps", "replicasets"): ("apps/v1", "ReplicaSet", SELECTED, True, "status"),
    ("apps", "statefulsets"): (
        "apps/v1",
        "StatefulSet",
        {**SELECTED, "serviceName": "x"},
        True,
        "status",
    ),
    ("autoscaling", "horizontalpodautoscalers"): (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {
            "maxReplicas": 2,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
        },
        True,
        "status",
    ),
    ("batch", "cronjobs"): (
        "batch/v1",
        "CronJob",
        {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}},
        True,
        "status",
    ),
    ("batch", "jobs"): ("batch/v1", "Job", JOB, True, "status"),
    ("networking.k8s.io", "ingresses"): (
        "networking.k8s.io/v1",
        "Ingress",
        {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}},
        True,
        "status",
    ),
    ("policy", "poddisruptionbudgets"): (
        "policy/v1",
        "PodDisruptionBudget",
        {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}},
        True,
        "status",
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        RULES,
        False,
        "status",
    ),
    ("writes.example.com", "gauges"): ("writes.example.com/v1", "Gauge", {}, True, "status scale"),
}


def thing_of(key: tuple[str, str], namespace: str) -> JSONObject:
    version, kind, spec, namespaced, _ = KINDS[key]
    name = "gauges.writes.example.com" if kind == "CustomResourceDefinition" else "writes"
    metadata: JSONObject = {"name": name, "labels": {"kept": "yes"}, "annotations": {"kept": "yes"}}
    if namespaced:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def path(key: tuple[str, str], thing: JSONObject) -> str:
    """The path of an object, by its resource's own plural."""
    base = path_of(thing).split("/")
    base[-2] = key[1]
    return "/".join(base)


@pytest.fixture(scope="module")
def written(request: pytest.FixtureRequest) -> dict[tuple[str, str], dict[str, frozenset[str]]]:
    """What each subresource wrote: parts of metadata."""
    namespace = "subresource-writes"
    found: dict[tuple[str, str], dict[str, frozenset[str]]] = {}
    with closing(Client(request.getfixturevalue("api"))) as client:
        client.made({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for key, (_, _, _, _, subresources) in KINDS.items():
            thing = thing_of(key, namespace)
            at = path(key, thing)
            folder = at.rpartition("/")[0]
            # A custom resource is served some time after its definition was created.
            until(partial(_served, client, folder), f"{key} served")
            made = client.send("POST", folder, thing)
            assert made.status == 201, (key, made.message)
            for subresource in subresources.split():
                found.setdefault(key, {})[subresource] = _parts(client, at, subresource)
    return found


def _served(client: Client, folder: str) -> bool:
    return client.send("GET", folder).status == 200


def _parts(client: Client, at: str, subresource: str) -> frozenset[str]:
    """The parts of metadata that a PUT or PATCH to the subresource changes."""
    mark = f"by-{subresource}"
    for part in ("labels", "annotations"):
        change = {"metadata": {part: {mark: "yes"}}}
        client.send("PATCH", f"{at}/{subresource}", change, MERGE)
    whole: Any = client.send("GET", at).body
    for part in ("labels", "annotations"):
        whole["metadata"].setdefault(part, {})[f"{mark}-put"] = "yes"
    client.send("PUT", f"{at}/{subresource}", whole)
    after = client.send("GET", at).body["metadata"]
    return frozenset(
        part
        for part in ("labels", "annotations")
        if {mark, f"{mark}-put"} & (after.get(part) or {}).keys()
    )


def test_what_subresources_write_of_metadata(written: Any) -> None:
    assert written == METADATA_WRITES


PODS, DEPLOYMENTS, NODES = ("", "pods"), ("apps", "deployments"), ("", "nodes")
GAUGES = ("writes.example.com", "gauges")
PAUSED: JSONObject = {"spec": {"paused": True}}
SHORT: JSONObject = {"spec": {"activeDeadlineSeconds": 99}}
# The resource, its subresource (empty: the resource itself), a change, and the path of the change.
CHANGES: list[tuple[tuple[str, str], str, JSONObject, str]] = [
    (PODS, "status", SHORT, "spec.activeDeadlineSeconds"),
    (PODS, "ephemeralcontainers", SHORT, "spec.activeDeadlineSeconds"),
    (PODS, "resize", SHORT, "spec.activeDeadlineSeconds"),
    (PODS, "status", {"status": {"message": "a"}}, "status.message"),
    (PODS, "resize", {"status": {"message": "b"}}, "status.message"),
    (PODS, "", {"status": {"message": "c"}}, "status.message"),
    (PODS, "", SHORT, "spec.activeDeadlineSeconds"),
    (DEPLOYMENTS, "status", PAUSED, "spec.paused"),
    (DEPLOYMENTS, "status", {"status": {"observedGeneration": 7}}, "status.observedGeneration"),
    (DEPLOYMENTS, "scale", {"spec": {"replicas": 3}}, "spec.replicas"),
    (DEPLOYMENTS, "scale", {"metadata": {"annotations": {"a": "b"}}}, "metadata.annotations.a"),
    (DEPLOYMENTS, "", {"status": {"observedGeneration": 9}}, "status.observedGeneration"),
    (NODES, "status", {"spec": {"unschedulable": True}}, "spec.unschedulable"),
    (GAUGES, "status", {"spec": {"x": 1}}, "spec.x"),
    (GAUGES, "status", {"status": {"x": 1}}, "status.x"),
    (GAUGES, "", {"status": {"y": 1}}, "status.y"),
]


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(("key", "subresource", "change", "path_"), CHANGES)
def test_what_is_stored_is_what_the_table_says(
    client: Client, key: tuple[str, str], subresource: str, change: JSONObject, path_: str
) -> None:
    at = path(key, thing_of(key, "subresource-writes"))
    answer = client.send("PATCH", f"{at}/{subresource}".rstrip("/"), change, MERGE)
    assert answer.status == 200, answer.message
    steps = tuple(path_.split("."))
    known: Any = subresources_named(f"{key[1]}/{subresource}") if subresource else ()
    stores = [each.stores(steps, *key) for each in known] or [steps[0] != "status"]
    sent, stored = change, client.send("GET", at).body
    for step in steps:
        sent, stored = sent[step], stored.get(step) or {}
    assert (stored == sent) is stores[0]


OWNED = {
    "environment": "production",
    "app.kubernetes.io/name": "a",
    "app.kubernetes.io/part-of": "b",
}
PROTECTED = [
    (("", "namespaces"), "status"),
    (("", "namespaces"), "finalize"),
    (("", "services"), "status"),
    (("", "persistentvolumeclaims"), "status"),
    (("", "pods"), "status"),
    (("apps", "statefulsets"), "status"),
    (("apps", "daemonsets"), "status"),
    (("apps", "deployments"), "status"),
]
OTHERS: list[JSONObject] = [
    {"labels": {"environment": "dev", "app.kubernetes.io/name": None}},
    {"labels": None},
]


def test_protected_labels_stay_whatever_is_written(
    client: Client, namespace: str, install: Install
) -> None:
    library = ROOT / "policies" / "best-practices"
    install(library / "immutable-labels", library / "required-labels")
    for key, subresource in PROTECTED:
        thing = thing_of(key, namespace)
        thing["metadata"]["labels"] = OWNED
        if key[0] == "apps":
            template = {**TEMPLATE, "metadata": {"labels": {**LABELS, **OWNED}}}
            thing["spec"] = {**thing["spec"], "template": template}
        at = path(key, thing)
        if key == ("", "namespaces"):
            at = f"/api/v1/namespaces/{namespace}"
            assert client.send("PATCH", at, {"metadata": {"labels": OWNED}}, MERGE).status == 200
        else:
            made = client.send("POST", at.rpartition("/")[0], thing)
            assert made.status == 201, (key, made.message)
        for metadata in OTHERS:
            for target in (at, f"{at}/{subresource}"):
                client.send("PATCH", target, {"metadata": metadata}, MERGE)
                whole = client.send("GET", at).body
                assert whole["metadata"]["labels"].items() >= OWNED.items(), (target, metadata)
                whole["metadata"] |= metadata
                client.send("PUT", target, whole)
                kept = client.send("GET", at).body["metadata"]["labels"]
                assert kept.items() >= OWNED.items(), (target, metadata)
        # A write that leaves the labels alone passes.
        whole = client.send("GET", at).body
        whole["metadata"].setdefault("annotations", {})["seen"] = "yes"
        assert client.send("PUT", f"{at}/{subresource}", whole).status == 200


CLASS = "volume.beta.kubernetes.io/storage-class"


def test_a_status_cannot_name_another_storage_class(
    client: Client, namespace: str, install: Install
) -> None:
    install(ROOT / "policies" / "best-practices" / "allowed-storage-classes")
    thing = thing_of(("", "persistentvolumeclaims"), namespace)
    thing["spec"] = {**thing["spec"], "storageClassName": "standard"}
    client.made(thing)
    change = {"metadata": {"annotations": {CLASS: "other"}}}
    for subresource in ("", "/status"):
        client.send("PATCH", path_of(thing) + subresource, change, MERGE)
        assert CLASS not in client.get(thing).body["metadata"]["annotations"], subresource


PRIVILEGED = {"securityContext": {"privileged": True}}
STRATEGIC = "application/strategic-merge-patch+json"


def test_no_subresource_of_a_pod_writes_what_pod_security_forbids(
    client: Client, namespace: str, install: Install
) -> None:
    install(ROOT / "policies" / "pod-security" / "baseline")
    thing = thing_of(("", "pods"), namespace)
    before = client.made(thing)["spec"]
    at = path_of(thing)
    container = {"containers": [{"name": "c", **PRIVILEGED}], "hostNetwork": True}
    debug = {"ephemeralContainers": [{"name": "e", "image": "i", **PRIVILEGED}]}
    unconfined = {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}
    changes: list[JSONObject] = [
        {"spec": container},
        {"spec": debug},
        {"metadata": {"annotations": unconfined}},
    ]
    for subresource in ("", "/status", "/resize", "/ephemeralcontainers"):
        for change in changes:
            client.send("PATCH", at + subresource, change, STRATEGIC)
            after = client.send("GET", at).body
            assert after["spec"] == before, (subresource, change)
            assert not unconfined.items() & after["metadata"]["annotations"].items(), subresource

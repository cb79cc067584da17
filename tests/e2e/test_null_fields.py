"""What a real API server accepts and prints as null, although a policy expects a list or a string."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.kinds.object_types import go_fields
from tests.e2e.client import Client

CONTAINERS: JSONObject = {"containers": [{"name": "c", "image": "i"}]}
STORAGE: JSONObject = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}
CLONE: JSONObject = {"kind": "PersistentVolumeClaim", "name": "x"}
AZURE: JSONObject = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "azureFile": {"secretName": "s", "shareName": "x"},
}
JOB: JSONObject = {
    "suspend": True,
    "template": {"spec": {**CONTAINERS, "restartPolicy": "Never"}},
    "podFailurePolicy": {},
}
FLOW: JSONObject = {
    "priorityLevelConfiguration": {"name": "global-default"},
    "rules": [
        {
            "subjects": [{"kind": "Group", "group": {"name": "a"}}],
            "resourceRules": [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True}
            ],
        }
    ],
}
# A nullable type and field, apiVersion, kind, whether it is in a namespace, more fields, and the path.
_Row = tuple[str, str, str, bool, JSONObject, str]
OBJECTS: list[_Row] = [
    ("ClusterRole.rules", "rbac.authorization.k8s.io/v1", "ClusterRole", False, {}, "rules"),
    ("Role.rules", "rbac.authorization.k8s.io/v1", "Role", True, {}, "rules"),
    ("EndpointSlice.endpoints", "discovery.k8s.io/v1", "EndpointSlice", True, {"addressType": "IPv4"}, "endpoints"),
    ("EndpointSlice.ports", "discovery.k8s.io/v1", "EndpointSlice", True, {"addressType": "IPv4"}, "ports"),
    ("LimitRangeSpec.limits", "v1", "LimitRange", True, {"spec": {}}, "spec.limits"),
    ("ProjectedVolumeSource.sources", "v1", "Pod", True, {"spec": {**CONTAINERS, "volumes": [{"name": "v", "projected": {}}]}},
     "spec.volumes.0.projected.sources"),
    ("PodFailurePolicy.rules", "batch/v1", "Job", True, {"spec": JOB}, "spec.podFailurePolicy.rules"),
    ("CSINodeSpec.drivers", "storage.k8s.io/v1", "CSINode", False, {"spec": {}}, "spec.drivers"),
    ("CSINodeDriver.topologyKeys", "storage.k8s.io/v1", "CSINode", False,
     {"spec": {"drivers": [{"name": "a", "nodeID": "b"}]}}, "spec.drivers.0.topologyKeys"),
    ("TypedLocalObjectReference.apiGroup", "v1", "PersistentVolumeClaim", True, {"spec": {**STORAGE, "dataSource": CLONE}},
     "spec.dataSource.apiGroup"),
    ("TypedObjectReference.apiGroup", "v1", "PersistentVolumeClaim", True, {"spec": {**STORAGE, "dataSourceRef": CLONE}},
     "spec.dataSourceRef.apiGroup"),
    ("AzureFilePersistentVolumeSource.secretNamespace", "v1", "PersistentVolume", False, {"spec": AZURE},
     "spec.azureFile.secretNamespace"),
    ("DeviceClaim.requests", "resource.k8s.io/v1", "ResourceClaim", True, {"spec": {"devices": {}}}, "spec.devices.requests"),
    ("ResourcePolicyRule.namespaces", "flowcontrol.apiserver.k8s.io/v1", "FlowSchema", False, {"spec": FLOW},
     "spec.rules.0.resourceRules.0.namespaces"),
]  # fmt: skip


@pytest.mark.parametrize("row", OBJECTS, ids=[row[0] for row in OBJECTS])
def test_null(client: Client, namespace: str, row: _Row) -> None:
    name, version, kind, namespaced, more, path = row
    metadata: JSONObject = {"name": "null", **({"namespace": namespace} if namespaced else {})}
    made: Any = client.made(
        {"apiVersion": version, "kind": kind, "metadata": metadata, **more}, dryRun="All"
    )
    for step in path.split("."):
        made = made[int(step) if step.isdigit() else step]
    assert made is None
    go, _, field = name.partition(".")
    assert field in go_fields("nullable")[go]

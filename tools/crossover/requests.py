"""The requests of a run: creates of given manifests, or of a Pod. Sends only look-ups."""

from collections.abc import Sequence
from typing import Any

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tools.crossover.model import CreateRequest

# What the API server writes, and does not accept in a create.
_WRITTEN = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "namespace",
    "resourceVersion",
    "uid",
)


async def create_requests(
    client: ObjectClient, manifests: Sequence[JSONObject]
) -> tuple[CreateRequest, ...]:
    """Return the creates of these manifests; of ``built_in_pod`` if there are none.

    Raises ConfigError for a kind that the cluster does not serve, or that has no namespaces.
    """
    resources: dict[str, dict[str, JSONObject]] = {}
    found = []
    for each in manifests or (built_in_pod(),):
        version, kind = each["apiVersion"], each["kind"]
        base = f"apis/{version}" if "/" in version else f"api/{version}"
        if version not in resources:
            resources[version] = await resources_of(client, base)
        resource = resources[version].get(kind)
        label = f"{kind} {(each.get('metadata') or {}).get('name', '')}".rstrip()
        if resource is None:
            raise ConfigError(f"{label}: the cluster does not serve {version} {kind}")
        if not resource["namespaced"]:
            raise ConfigError(f"{label}: expected an object of a namespace, {kind} has none")
        found.append(CreateRequest(label, base, resource["name"], _sendable(each)))
    return tuple(found)


def built_in_pod() -> JSONObject:
    """Return a Pod of common size that the Pod Security standard ``restricted`` admits."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web",
            "labels": {"app": "web", "app.kubernetes.io/name": "web", "team": "shop"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
        },
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [_container(name) for name in ("web", "proxy")],
            "volumes": [
                {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
                {"name": "config", "configMap": {"name": "web", "optional": True}},
            ],
        },
    }


def _container(name: str) -> JSONObject:
    probe = {"httpGet": {"path": "/healthz", "port": "http"}}
    return {
        "name": name,
        "image": f"registry.example/shop/{name}:v1.2.3",
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "ROLE", "value": name}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "500m", "memory": "128Mi"},
        },
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of a made-up Pod
            {"name": "config", "mountPath": "/etc/web", "readOnly": True},
        ],
    }


async def resources_of(client: ObjectClient, base: str) -> dict[str, JSONObject]:
    """Return the resources of an API by kind, without subresources."""
    try:
        listed: list[Any] = (await client.get(base)).get("resources") or []
    except ObjectError as error:
        if error.reason != "NotFound":
            raise
        return {}
    return {each["kind"]: each for each in listed if "/" not in each["name"]}


def _sendable(manifest: JSONObject) -> JSONObject:
    given = manifest.get("metadata") or {}
    metadata = {key: value for key, value in given.items() if key not in _WRITTEN}
    return {key: value for key, value in manifest.items() if key != "status"} | {
        "metadata": metadata
    }

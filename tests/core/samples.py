"""Objects and requests that several tests of the core start from."""

from typing import Any


def pod() -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "containers": [
                {
                    "name": "app",
                    "image": "app:1",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                },
                {
                    "name": "log",
                    "image": "log:1",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                },
            ],
            "tolerations": [
                {"key": "a", "effect": "NoSchedule"},
                {"key": "a", "effect": "NoExecute"},
            ],
        },
    }


def request(resource: str = "/v1/pods", kind: str = "Pod", **fields: Any) -> dict[str, Any]:
    """An AdmissionRequest for ``group/version/resource``; ``sent`` if the object came as another."""
    sent = fields.pop("sent", resource)
    keys = ("group", "version")
    return {
        "kind": dict(zip(keys, sent.split("/"), strict=False), kind=kind),
        "resource": dict(zip((*keys, "resource"), sent.split("/"), strict=True)),
        "requestKind": dict(zip(keys, resource.split("/"), strict=False), kind=kind),
        "requestResource": dict(zip((*keys, "resource"), resource.split("/"), strict=True)),
        "operation": "CREATE",
        "namespace": "shop",
        "name": "web",
        **fields,
    }


def rule(resource: str, operations: str = "*", **fields: Any) -> dict[str, Any]:
    """A rule for ``group/version/resource[/subresource]``."""
    group, version, name = resource.split("/", 2)
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": operations.split(),
        "resources": [name],
        **fields,
    }

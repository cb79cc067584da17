"""Roles and bindings, those of the deployment among them. No tests here."""

from collections.abc import Iterator

import yaml

from policyd.json_types import JSONObject
from tests import shared

RBAC = "rbac.authorization.k8s.io/v1"
MAKERS = "makers"
COMPONENT = shared.ROOT / "deploy" / "components" / "cluster" / "access.yaml"


def role(name: str, *rules: JSONObject, namespace: str = "") -> JSONObject:
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": RBAC, "kind": kind, "metadata": metadata, "rules": list(rules)}


def bound(of: JSONObject, kind: str, name: str, **subject: str) -> JSONObject:
    group = {} if kind == "ServiceAccount" else {"apiGroup": "rbac.authorization.k8s.io"}
    return {
        "apiVersion": RBAC,
        "kind": f"{of['kind']}Binding",
        "metadata": of["metadata"],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": of["kind"],
            "name": of["metadata"]["name"],
        },
        "subjects": [{"kind": kind, "name": name, **group, **subject}],
    }


def rights() -> Iterator[JSONObject]:
    """Roles and bindings; ``lost`` is bound to a role that does not exist.

    No two of them allow the same: which one is the reason would be left to chance.
    """
    config_maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    maker = role("makers", config_maps)
    yield from (maker, bound(maker, "Group", MAKERS))
    writer = role(
        "writers",
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["shared"],
            "verbs": ["get"],
        },
        {"nonResourceURLs": ["/debug/*", "/exact"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["update"]},
    )
    yield from (writer, bound(writer, "Group", "writers"))
    robot = role(
        "robot",
        {"apiGroups": [""], "resources": ["services"], "verbs": ["create"]},
        namespace="default",
    )
    yield from (robot, bound(robot, "ServiceAccount", "robot", namespace="default"))
    yield bound(role("gone"), "Group", "lost")


def component() -> list[JSONObject]:
    """The ClusterRole and ClusterRoleBinding of the deployment."""
    return list(yaml.safe_load_all(COMPONENT.read_text()))

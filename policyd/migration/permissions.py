"""The permissions that an import of a cluster needs. Applies nothing."""

from policyd.importers.all import LIVE_GROUPS
from policyd.json_types import JSONObject
from policyd.ownership import LABELS

NAME = "policyd-import"


def role() -> JSONObject:
    """Return the ClusterRole. Anybody who is authenticated may discover what a cluster serves."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME, "labels": dict(LABELS)},
        "rules": [
            {"apiGroups": [*LIVE_GROUPS], "resources": ["*"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
        ],
    }

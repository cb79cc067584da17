"""The Pod that tests of patches change."""

from policyd.json_types import JSONObject
from tests.builders.objects import container, pod


def two_containers() -> JSONObject:
    """A Pod with lists of maps of every kind: merged by a key, by two, and by none."""
    return pod(
        container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
        container("log", "log:1", ports=[{"containerPort": 80, "protocol": "TCP"}]),
        namespace=None,
        labels={"app": "web"},
        tolerations=[
            {"key": "a", "effect": "NoSchedule"},
            {"key": "a", "effect": "NoExecute"},
        ],
    )

"""From a Deployment without Pods to the reason, by the log of policyd alone.

The test does what the controllers would do: there are none beside this API server.
"""

from typing import Any, NamedTuple

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import PRIVILEGED, container, deployment
from tests.builders.policies import NOT_PRIVILEGED, PODS, json_patch, policy
from tests.e2e.builders import controlled
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import Install
from tests.server.process import until

CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
HEADERS = (("Impersonate-User", CONTROLLER), ("Impersonate-Group", "system:masters"))
HASH = "7d9f6c8b5"
BROKEN = json_patch("[JSONPatch{op: 'remove', path: '/metadata/annotations/none'}]")
MISSING = "remove operation does not apply"


class Case(NamedTuple):
    webhook: str
    spec: JSONObject
    event: str
    level: str
    message: str
    name: str  # the field with the name of the Pod, or what will begin it


CASES = [
    Case("validate", {"validations": [NOT_PRIVILEGED]}, "denial", "info", "privileged", "name"),
    # The API server makes the name after the mutating webhooks.
    Case("mutate", {"mutations": [BROKEN]}, "error", "error", MISSING, "generateName"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.webhook)
def test_the_log_says_why_a_deployment_has_no_pods(
    case: Case, api: Cluster, client: Client, install: Install, namespace: str
) -> None:
    server = install(policy("guard", PODS, **case.spec))
    web = client.made(deployment(container(**PRIVILEGED), name="web", namespace=namespace))
    template = web["spec"]["template"]
    replica_set = client.made(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": controlled(web, name=f"web-{HASH}"),
            "spec": {"selector": web["spec"]["selector"], "template": template},
        }
    )
    controller = Client(api, HEADERS)
    denied = controller.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **template["metadata"],
                **controlled(replica_set, generateName=f"web-{HASH}-"),
            },
            "spec": template["spec"],
        }
    )
    controller.close()
    assert denied.status in (403, 422)

    # jq 'select(.effect == "denied" and .namespace == "NAMESPACE" and
    #            (.owner // "" | startswith("ReplicaSet/web-")))'
    def found() -> list[dict[str, Any]]:
        return [
            line
            for line in server.lines()
            if line.get("effect") == "denied"
            and line["namespace"] == namespace
            and line.get("owner", "").startswith("ReplicaSet/web-")
        ]

    (line,) = until(found, "the line of the denial")
    assert case.message in line["message"]
    assert line[case.name].startswith(f"web-{HASH}-")
    assert {key: line[key] for key in ("event", "level", "policy", "owner", "user")} == {
        "event": case.event,
        "level": case.level,
        "policy": "guard",
        "owner": f"ReplicaSet/web-{HASH}",
        "user": CONTROLLER,
    }

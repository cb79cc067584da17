"""What one user writes does not keep policyd from answering others, with a real API server between them."""

import threading
from collections.abc import Iterator

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import PODS, demand, policy
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import Install
from tests.server.process import until

ANNOTATION = "object.metadata.annotations['mem']"
ANNOTATED = {"name": "annotated", "expression": "has(object.metadata.annotations)"}
# A quantity's grammar takes zeros without end; what follows makes it none.
NO_QUANTITY = "0" * 200_000 + "x"


@pytest.fixture
def attacker(api: Cluster, client: Client, namespace: str) -> Iterator[Client]:
    """Somebody who may do nothing but create Pods in the test's namespace."""
    rights = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}
    group = "rbac.authorization.k8s.io"
    metadata = {"name": "attacker", "namespace": namespace}
    version = {"apiVersion": f"{group}/v1", "metadata": metadata}
    client.made({**version, "kind": "Role", "rules": [rights]})
    subject = {"apiGroup": group, "kind": "User", "name": "mallory"}
    role = {"apiGroup": group, "kind": "Role", "name": "attacker"}
    client.made({**version, "kind": "RoleBinding", "subjects": [subject], "roleRef": role})
    made = Client(api, [("Impersonate-User", "mallory")])
    until(
        lambda: made.create(pod(name="allowed", namespace=namespace), dryRun="All").status == 201,
        "the right",
    )
    yield made
    made.close()


def annotated(namespace: str, name: str) -> JSONObject:
    thing = pod(name=name, namespace=namespace)
    thing["metadata"]["annotations"] = {"mem": NO_QUANTITY}
    return thing


@pytest.mark.parametrize(
    "expression",
    [
        f"isQuantity({ANNOTATION})",
        f"quantity({ANNOTATION}).isInteger()",
        f"{ANNOTATION}.matches('^(0|[1-9])*[a-w]$')",
        f"{ANNOTATION}.findAll('0*1|0').exists(found, found == '1')",
    ],
    ids=["isQuantity", "quantity", "matches", "findAll"],
)
def test_an_annotation_blocks_no_other_pod(
    install: Install, client: Client, namespace: str, attacker: Client, expression: str
) -> None:
    limit = policy(
        "limit", PODS, matchConditions=[ANNOTATED], validations=[demand(expression, "not taken")]
    )
    server = install(limit, webhook={"timeoutSeconds": 5})
    attacks: list[int] = []

    def attack() -> None:
        attacks.extend(
            attacker.create(annotated(namespace, f"evil-{i}"), dryRun="All").status
            for i in range(3)
        )

    thread = threading.Thread(target=attack)
    thread.start()
    others = [
        client.create(pod(name=f"good-{i}", namespace=namespace), dryRun="All").status
        for i in range(10)
    ]
    thread.join()
    assert others == [201] * 10
    assert server.get("/livez")[0] == 200
    assert set(attacks) == {422}

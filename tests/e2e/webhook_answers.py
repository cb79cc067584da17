"""What a real API server answers to webhook configurations. No tests here."""

import base64
import json
import urllib.request
from collections.abc import Iterator

from policyd.json_types import JSONObject
from tests.builders.webhook_configurations import CASES, KINDS, Case
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster

GROUP = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {kind: f"{kind.lower()}s" for kind in KINDS}


def answers(api: Cluster) -> Iterator[JSONObject]:
    """Yield the answer to each case, as a row: nothing of it stays in the API server."""
    client = Client(api)
    try:
        for case in CASES.values():
            yield {"name": case.name, **answer(client, case)}
    finally:
        client.close()


def answer(client: Client, case: Case) -> JSONObject:
    """Return the status, and what the answer says; not its warnings."""
    sent = case.configuration
    path = f"{GROUP}/{PLURALS[sent['kind']]}"
    made = client.send("POST", path, sent, dryRun="All", fieldValidation="Strict")
    row: JSONObject = {"status": made.status}
    if made.status < 400:
        return {**row, "webhooks": made.body.get("webhooks")}
    causes = made.body.get("details", {}).get("causes", [])
    if made.status == 422:
        listed = [[each.get("field", ""), each["reason"], each["message"]] for each in causes]
        if any(field == "metadata.generateName" for field, _, _ in listed):
            # The API server made up the rest of the name.
            listed = [each for each in listed if each[0] != "metadata.name"]
        return {**row, "causes": listed}
    return {**row, "message": made.message}


def store(api: Cluster, configuration: JSONObject) -> None:
    """Put an object into etcd, which checks nothing."""
    name = configuration["metadata"]["name"]
    stamped = {
        **configuration,
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": "2020-01-01T00:00:00Z",
        },
    }
    _etcd(api, "put", {"key": _key(configuration), "value": _encoded(json.dumps(stamped))})


def forget(api: Cluster, configuration: JSONObject) -> None:
    """Delete an object from etcd."""
    _etcd(api, "deleterange", {"key": _key(configuration)})


def _key(configuration: JSONObject) -> str:
    name = configuration["metadata"]["name"]
    return _encoded(f"/registry/{PLURALS[configuration['kind']]}/{name}")


def _etcd(api: Cluster, call: str, body: JSONObject) -> None:
    request = urllib.request.Request(
        f"{api.etcd}/v3/kv/{call}", data=json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request) as response:
        assert response.status == 200


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

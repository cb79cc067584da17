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
            if case.old is not None:
                store(api, case.old)
        for case in CASES.values():
            yield {"name": case.name, **answer(client, case)}
    finally:
        client.close()
        for case in CASES.values():
            if case.old is not None:
                forget(api, case.old)


def answer(client: Client, case: Case) -> JSONObject:
    """Return the status, and what the answer says."""
    kind = case.configuration["kind"]
    path = f"{GROUP}/{PLURALS[kind]}"
    method = "POST"
    if case.old is not None:
        method, path = "PUT", f"{path}/{case.old['metadata']['name']}"
    sent = case.configuration
    if case.old is not None:
        stored = client.send("GET", path).body["metadata"]["resourceVersion"]
        sent = {**sent, "metadata": {**sent["metadata"], "resourceVersion": stored}}
    made = client.send(method, path, sent, dryRun="All", fieldValidation="Strict")
    row: JSONObject = {"status": made.status}
    if made.warnings:
        row["warnings"] = list(made.warnings)
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

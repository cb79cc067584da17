"""Put objects into the store of the API server, which is much quicker than requests. No tests here."""

import base64
import json
import urllib.request
from collections.abc import Iterable
from itertools import islice
from uuid import NAMESPACE_URL, uuid5

from policyd.json_types import JSONObject
from tests.e2e.cluster import Cluster

MOST_PUTS = 100  # of one transaction in etcd


def store(api: Cluster, folder: str, objects: Iterable[JSONObject]) -> None:
    """Put objects of namespaces into a folder of the store, such as ``pods``."""
    left = iter(objects)
    while some := list(islice(left, MOST_PUTS)):
        body = json.dumps({"success": [_put(folder, each) for each in some]}).encode()
        request = urllib.request.Request(f"{api.etcd}/v3/kv/txn", data=body, method="POST")
        with urllib.request.urlopen(request) as response:
            assert json.loads(response.read())["succeeded"]


def uid_of(namespace: str, name: str) -> str:
    """The UID that a stored object has."""
    return str(uuid5(NAMESPACE_URL, f"{namespace}/{name}"))


def _put(folder: str, thing: JSONObject) -> JSONObject:
    metadata = thing["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    own = {"uid": uid_of(namespace, name), "creationTimestamp": "2026-11-23T12:00:00Z"}
    whole = {**thing, "metadata": {**metadata, **own}}
    key = f"/registry/{folder}/{namespace}/{name}"
    return {"requestPut": {"key": _encoded(key), "value": _encoded(json.dumps(whole))}}


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

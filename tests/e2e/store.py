"""Put objects into the store of the API server and remove them, which is much quicker than requests. No tests here."""

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
        assert _post(api, "txn", {"success": [_put(folder, each) for each in some]})["succeeded"]


def remove(api: Cluster, beginning: str) -> None:
    """Remove what is in the store at a path that begins so, such as ``pods/many-``."""
    first = f"/registry/{beginning}"
    past = first[:-1] + chr(ord(first[-1]) + 1)
    assert _post(api, "deleterange", {"key": _encoded(first), "range_end": _encoded(past)})


def _post(api: Cluster, method: str, body: JSONObject) -> JSONObject:
    url, data = f"{api.etcd}/v3/kv/{method}", json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method="POST")
    with urllib.request.urlopen(request) as response:
        found: JSONObject = json.loads(response.read())
    return found


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

"""What tenants and an API server may put into the way of reads: other objects' decisions stand.

The attacks are those that lookups of other engines had: an aim in another namespace or path, a kind
that appears later, lists and objects that are large, keys that are none. (In CVE-2026-4789,
CVE-2026-22039, CVE-2026-41068 and GHSA-59v6 of Kyverno, policies of tenants aimed lookups.)
"""

import threading
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.builders.reviews import body
from tests.cluster.fake import Call, Reply, refusal
from tests.cluster.watched import WatchedList
from tests.sampling import share
from tests.server.cluster.reading_servers import Cluster, metric, ready, serving
from tests.server.process import Process, until

GADGET = "Gadget.v1.example.com"
GADGETS = "/apis/example.com/v1/gadgets"
KEYED: JSONObject = {
    "name": "gadgets",
    "apiVersion": "example.com/v1",
    "kind": "Gadget",
    "namespace": "any",
    "key": "item.spec.keys",
}


def wanting(expression: str, **read: JSON) -> JSONObject:
    """A policy of ConfigMaps: those that do not meet the expression are denied."""
    return policy(
        "wants", CONFIG_MAPS, reads=[{**KEYED, **read}], validations=[demand(expression, "taken")]
    )


FREE = wanting("!(object.data.host in reads.gadgets)")


class Gadgets(Cluster):
    """A cluster that serves Gadgets, once it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.gadgets = self.lists[GADGETS] = WatchedList("Gadget", "example.com/v1")
        self.served = threading.Event()
        self.served.set()
        self.paths: set[str] = set()

    def __call__(self, call: Call) -> Reply:
        path = call.path.partition("?")[0]
        self.paths.add(path)
        if path == "/apis/example.com/v1" and self.served.is_set():
            row = {"name": "gadgets", "kind": "Gadget", "namespaced": True, "verbs": ["list"]}
            found = {"kind": "APIResourceList", "groupVersion": "example.com/v1"}
            return Reply({**found, "resources": [row]})
        if path == GADGETS and not self.served.is_set():
            return refusal(404, "not served")
        return super().__call__(call)

    def gadget(self, name: str, keys: object, namespace: str = "store", **spec: object) -> None:
        self.gadgets.put(name, namespace, spec={"keys": keys, **spec})


def denied(server: Process, host: str = "shop", **fields: Any) -> str:
    """Why a ConfigMap for this host is denied; empty if it is not."""
    found = config_map("own", data={"host": host})
    found["metadata"]["namespace"] = fields.get("namespace", "default")
    code, said = server.post("/validate", body(object=found, **{"name": "own", **fields}))
    assert code == 200, said
    return "" if said["response"]["allowed"] else str(said["response"]["status"]["message"])


def test_a_kind_that_appears_later_and_goes_again(tmp_path: Path) -> None:
    cluster = Gadgets()
    cluster.served.clear()
    cluster.gadget("a", ["shop"])
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "readiness")
        assert "the cluster has no kind Gadget of example.com/v1" in denied(server, "other")
        assert metric(server, "usable", GADGET) == 0
        cluster.served.set()
        until(lambda: denied(server, "other") == "", "the kind", 60)
        assert "taken" in denied(server)
        cluster.served.clear()
        cluster.gadgets.forget()
        cluster.gadgets.cut()
        until(lambda: metric(server, "usable", GADGET) == 0, "the loss of the kind", 60)
        assert "reads.gadgets (Gadget): " in denied(server, "other")
        assert cluster.paths <= {"/version", "/apis/example.com/v1", GADGETS, "/apis", "/api"} | {
            each for each in cluster.paths if "customresourcedefinitions" in each
        }


KEYS: dict[str, object] = {
    "a number": 5,
    "null": None,
    "a map": {"shop": "x"},
    "nulls": [None, "shop"],
    "numbers": ["shop", 1],
    "lists": [["shop"]],
    "too many": ["shop", *map(str, range(1000))],
    "too long": "s" * 5000,
}


def test_an_object_without_proper_keys_is_in_no_list_and_harms_no_other(tmp_path: Path) -> None:
    cluster = Gadgets()
    cluster.gadget("good", ["taken.example.com"])
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        for name, keys in KEYS.items():
            cluster.gadget(name.replace(" ", "-"), keys)
        until(lambda: metric(server, "key_errors", GADGET) == len(KEYS), "the errors of keys")
        assert denied(server) == ""
        assert "taken" in denied(server, "taken.example.com")
        cluster.gadget("good", ["shop"])
        until(lambda: denied(server), "an event after them")
        assert denied(server, "taken.example.com") == ""


def test_the_object_of_a_request_does_not_choose_its_namespace(tmp_path: Path) -> None:
    """``same`` is the namespace of the request, whatever its object and its name say."""
    cluster = Gadgets()
    cluster.gadget("own", ["shop"], "store")
    policy_ = wanting("!(object.data.host in reads.gadgets)", namespace="same")
    with serving(tmp_path, cluster, policy_) as server:
        until(lambda: ready(server), "the first list")
        assert "taken" in denied(server, namespace="store")
        for each in ("default", "stor", "store/", "../store", "STORE", "%73tore"):
            assert denied(server, namespace=each) == ""
        # An object of another kind with the name and namespace of a Gadget hides nothing.
        assert "taken" in denied(server, namespace="store", name="own")
        found = config_map("own", data={"host": "shop"})
        found["metadata"]["namespace"] = "default"  # a lie
        said = server.post("/validate", body(object=found, namespace="store", name="own"))[1]
        assert said["response"]["allowed"] is False


def test_a_list_of_one_namespace_may_not_bring_objects_of_another(tmp_path: Path) -> None:
    cluster = Gadgets()
    shop = cluster.lists["/apis/example.com/v1/namespaces/shop/gadgets"] = WatchedList("Gadget")
    shop.put("a", "store", spec={"keys": ["shop"]})
    shop.put("b", "shop", spec={"keys": ["mine"]})
    policy_ = wanting("!(object.data.host in reads.gadgets)", namespace="shop")
    with serving(tmp_path, cluster, policy_) as server:
        until(lambda: ready(server), "the first list")
        assert denied(server) == ""
        assert "taken" in denied(server, "mine")
        assert GADGETS not in cluster.paths


def test_objects_of_a_megabyte(tmp_path: Path) -> None:
    """Only the fields that are used are kept; the whole objects are bounded."""
    cluster = Gadgets()
    for at in range(60):
        cluster.gadget(f"g{at}", [f"h{at}"], pad="x" * 2**20)
    whole = wanting("reads.gadgets.all(k, reads.gadgets[k].all(g, g != object))")
    whole["metadata"]["name"] = "whole"
    flags = ("--max-read-bytes", "16MiB")
    with serving(tmp_path, cluster, FREE, flags=flags) as server:
        until(lambda: metric(server, "objects", GADGET) == 60, "the first list", 120)
        before = server.resident()
        assert metric(server, "bytes", GADGET) < 500_000
        assert denied(server) == ""
        cluster.gadget("last", ["shop"], pad="y" * 2**20)
        until(lambda: "taken" in denied(server), "the event")
        assert server.resident() - before < 32 * 2**20
    with serving(tmp_path, cluster, whole, flags=flags) as server:
        until(lambda: "--max-read-bytes (16 MiB)" in denied(server), "the end of it", 120)
        assert server.resident() < 250 * 2**20


def test_an_index_that_explodes_is_bounded(tmp_path: Path) -> None:
    """1,000 keys of 4 KB an object."""
    cluster = Gadgets()
    for at in range(40):
        cluster.gadget(f"g{at}", [f"{at}-{key}-{'k' * 900}" for key in range(1000)])
    with serving(tmp_path, cluster, FREE, flags=("--max-read-bytes", "16MiB")) as server:
        until(lambda: "--max-read-bytes (16 MiB)" in denied(server), "the end of it", 120)
        assert server.resident() < 250 * 2**20
        until(lambda: ready(server), "readiness")


@pytest.mark.parametrize("count", [100_000 if share() == 1 else 20_000])
def test_a_kind_with_very_many_objects(tmp_path: Path, count: int) -> None:
    """Requests of other policies are answered while they are listed."""
    cluster = Gadgets()
    for at in range(count):
        metadata = {"name": f"g{at:06}", "namespace": "store", "resourceVersion": "2"}
        cluster.gadgets.objects["store", f"g{at:06}"] = {
            "metadata": metadata,
            "spec": {"keys": [f"h{at}"], "pad": "x" * 100},
        }
    cluster.gadgets.version = 2
    other = policy("other", CONFIG_MAPS, validations=[demand("object.data.host != 'no'", "no")])
    with serving(tmp_path, cluster, FREE, other) as server:
        began = monotonic()
        until(lambda: metric(server, "objects", GADGET) == count, "the list", 240)
        print(f"{count} objects: {monotonic() - began:.1f} s, {server.resident() >> 20} MiB")
        assert denied(server) == ""
        assert "taken" in denied(server, f"h{count - 1}")
        assert "no" in denied(server, "no")
        cluster.gadget("last", ["shop"])
        until(lambda: "taken" in denied(server), "the event")

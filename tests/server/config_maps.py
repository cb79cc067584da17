"""``policyd serve`` that reads policies from the ConfigMaps of a fake API server. No tests here."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.config_maps import LABELS, NAMESPACE, policy_map
from tests.builders.objects import config_map
from tests.builders.reviews import body
from tests.cluster.fake import ApiServer, Call, Reply, api_server, refusal
from tests.cluster.watched import WatchedList
from tests.server.process import Process
from tests.server.serve import command

SELECTOR = "policyd.dev/policies=true"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


@dataclass
class PolicyCluster:
    """The API server and what it holds: the list of labelled ConfigMaps, and others by name."""

    server: ApiServer
    labelled: WatchedList = field(default_factory=WatchedList)
    others: dict[str, JSONObject] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    away: bool = False
    refuses_writes: bool = False

    def stored(self, name: str) -> JSONObject:
        """A ConfigMap of policies as the API server sends it."""
        made = self.labelled.objects[NAMESPACE, name]
        named = {"apiVersion": "v1", "kind": "ConfigMap"}
        return {**named, **made, "metadata": {**made["metadata"], "labels": LABELS}}

    def put(self, name: str, **keys: JSONObject | str) -> None:
        """Create or replace a ConfigMap of policies."""
        made = policy_map(name, None, version=1, **keys)
        self.labelled.put(name, NAMESPACE, data=made["data"])

    def remove(self, name: str) -> None:
        self.labelled.remove(name, NAMESPACE)

    def answer(self, call: Call) -> Reply:
        if self.away:
            return refusal(503, "etcd is away")
        path = call.path.partition("?")[0]
        if path == PATH and "policyd.dev" in call.path:
            return self.labelled.answer(call)
        name = path.removeprefix(f"{PATH}/")
        if call.method == "PATCH" and self.refuses_writes:
            return refusal(403, "configmaps are not yours to patch")
        if call.method == "PATCH":
            self.writes.append(name)
            self.others[name] = call.body
            return Reply(call.body)
        found = self.others.get(name) or self.labelled.objects.get((NAMESPACE, name))
        return refusal(404, "not found") if found is None else Reply(found)


@contextmanager
def policy_cluster(folder: Path) -> Iterator[PolicyCluster]:
    """A fake API server without any ConfigMaps."""
    with api_server(folder, lambda _: refusal(404, "not found")) as server:
        made = PolicyCluster(server)
        server.answer = made.answer
        try:
            yield made
        finally:
            made.labelled.close()


def flags(cluster: PolicyCluster, *more: str) -> list[str]:
    """The command line of a server that reads the ConfigMaps."""
    where = ["--kubeconfig", str(cluster.server.kubeconfig()), "--namespace", NAMESPACE]
    return command(None, *where, "--policy-configmaps", SELECTOR, *more)


@contextmanager
def reading(cluster: PolicyCluster, *more: str, log: str = "server.log") -> Iterator[Process]:
    """A running server."""
    with Process(flags(cluster, *more), cluster.server.folder / log) as process:
        yield process


def message(server: Process, **data: str) -> str:
    """Why a ConfigMap is denied; empty if it is not."""
    status, said = server.post("/validate", body(object=config_map(data=data)))
    assert status == 200
    return str(said["response"].get("status", {}).get("message", ""))


def shown(server: Process) -> Any:
    """What ``/policies`` shows."""
    return json.loads(server.get("/policies")[1])

"""Servers that follow what policies read, beside an API server of the tests. No tests here."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from policyd.json_types import JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.builders.reviews import body
from tests.cluster.fake import Call, Reply, api_server, refusal
from tests.cluster.watched import WatchedList
from tests.server.process import Process
from tests.server.serve import command

KIND = "Ingress.v1.networking.k8s.io"
INGRESSES = {"name": "i", "apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
ANY: JSONObject = {**INGRESSES, "namespace": "any", "key": "item.spec.host"}
PODS: JSONObject = {"name": "pods", "apiVersion": "v1", "kind": "Pod", "namespace": "any"}


def reading(read: JSONObject, expression: str, name: str = "wants") -> JSONObject:
    return policy(name, CONFIG_MAPS, reads=[read], validations=[demand(expression, "taken")])


FREE = reading(ANY, "!('shop.example.com' in reads.i)")
FEW_PODS = reading(PODS, "reads.pods.all(p, p.spec.nodeName != 'x')", "pods")
NEITHER = policy("wants", CONFIG_MAPS, validations=[demand("true", "no")])


class Cluster:
    """Ingresses and Pods; while ``open`` is not set, lists of Pods wait."""

    def __init__(self) -> None:
        self.ingresses, self.pods = WatchedList("Ingress"), WatchedList("Pod")
        self.lists = {
            "/apis/networking.k8s.io/v1/ingresses": self.ingresses,
            "/api/v1/pods": self.pods,
        }
        self.open = threading.Event()
        self.open.set()

    def __call__(self, call: Call) -> Reply:
        path = call.path.partition("?")[0]
        if path not in self.lists:
            return refusal(404, "not there")
        if path == "/api/v1/pods":
            self.open.wait(60)
        return self.lists[path].answer(call)

    def ingress(self, name: str, host: object, namespace: str = "store") -> None:
        self.ingresses.put(name, namespace, spec={"host": host})


@contextmanager
def serving(
    folder: Path, cluster: Cluster, *documents: JSONObject, flags: tuple[str, ...] = ()
) -> Iterator[Process]:
    sources = write(folder, *documents)
    with api_server(folder, cluster) as api:
        cluster_flags = ("--kubeconfig", str(api.kubeconfig()), "--timeout", "5s")
        with Process(command(sources, *cluster_flags, *flags), folder / "server.log") as server:
            yield server
            cluster.open.set()
            for each in cluster.lists.values():
                each.close()
        assert not server.lines("defect")


def write(folder: Path, *documents: JSONObject) -> Path:
    """The policies of a folder, exchanged at once."""
    (folder / "policies").mkdir(exist_ok=True)
    new = folder / "new.json"
    new.write_text("\n---\n".join(map(json.dumps, documents)))
    return new.rename(folder / "policies" / "wants.yaml").parent


def message(server: Process) -> str:
    """Why a ConfigMap may not be created; empty if it may."""
    code, said = server.post("/validate", body())
    assert code == 200
    return "" if said["response"]["allowed"] else str(said["response"]["status"]["message"])


def ready(server: Process) -> bool:
    return server.get("/readyz")[1] == "ok"


def metric(server: Process, name: str, kind: str = KIND) -> float:
    return server.metric(f'policyd_read_{name}{{kind="{kind}"}}')


def known_kinds(server: Process) -> int:
    return server.get("/metrics")[1].count("policyd_read_usable{")


def generation(server: Process) -> str:
    found: str = json.loads(server.get("/policies")[1])["generation"]
    return found

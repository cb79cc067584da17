"""``policyd serve`` that follows what policies read: reloads, bounds, metrics, and life without them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.builders.reviews import body
from tests.cluster.fake import Call, Reply, api_server, refusal
from tests.cluster.watched import WatchedList
from tests.server.process import Process, until
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


def test_objects_are_followed_and_counted(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.ingress("a", "x.example.com")
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        assert message(server) == ""
        assert metric(server, "usable") == metric(server, "objects") == 1
        size = metric(server, "bytes")
        cluster.ingress("b", "shop.example.com")
        until(lambda: "taken" in message(server), "the event")
        cluster.ingress("wrong", 5)
        until(lambda: metric(server, "key_errors") == 1, "the error of a key")
        assert metric(server, "objects") == 3
        assert metric(server, "events_total") == 2
        assert metric(server, "bytes") > size > 500
        assert metric(server, "staleness_seconds") == 0
        cluster.ingresses.remove("b", "store")
        until(lambda: message(server) == "", "the deletion")
        write(tmp_path, NEITHER)
        until(cluster.ingresses.abandoned, "the end of the watch")
        until(lambda: f'kind="{KIND}"' not in server.get("/metrics")[1], "no series")


def test_a_set_with_new_reads_is_used_when_they_are_known(tmp_path: Path) -> None:
    cluster = Cluster()
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        cluster.open.clear()
        cluster.pods.put("p", "shop", spec={"nodeName": "x"})
        cluster.ingress("b", "shop.example.com")
        until(lambda: "taken" in message(server), "the event")
        write(tmp_path, FREE, FEW_PODS)
        before = generation(server)
        until(lambda: known_kinds(server) == 2, "the new read")
        assert metric(server, "usable", "Pod.v1") == 0
        assert message(server) == "policy 'wants' denied request: taken"  # at once, by the old set
        cluster.open.set()
        until(lambda: generation(server) != before, "the new set")
        assert "policy 'pods' denied request: taken" in message(server)
        write(tmp_path, FEW_PODS)
        until(cluster.ingresses.abandoned, "the end of the other watch")
        assert message(server) == "policy 'pods' denied request: taken"


def test_a_set_does_not_wait_for_ever(tmp_path: Path) -> None:
    cluster = Cluster()
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the first list")
        cluster.open.clear()
        before = generation(server)
        write(tmp_path, FREE, FEW_PODS)
        until(lambda: generation(server) != before, "ten seconds")
        cluster.open.set()
        until(lambda: message(server) == "", "the list")


@pytest.mark.parametrize("what", ["list", "watch"])
def test_without_permission_the_failure_policy_decides(tmp_path: Path, what: str) -> None:
    cluster = Cluster()
    cluster.ingresses.refused[what] = refusal(403, f"policyd may not {what}")
    with serving(tmp_path, cluster, FREE) as server:
        until(lambda: ready(server), "the refusal")
        until(lambda: f"policyd may not {what}" in message(server), "the reason")
        assert "reads.i (Ingress): " in message(server)
        assert metric(server, "usable") == 0
        cluster.ingresses.refused.clear()
        until(lambda: message(server) == "", "the permission", 60)
        assert metric(server, "usable") == 1


def test_objects_that_take_too_much_memory_are_given_up(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.ingress("a", "x.example.com")
    for at in range(100):
        cluster.pods.put(f"p{at}", "shop", spec={"nodeName": "y" * 20_000})
    flags = ("--max-read-bytes", "1MiB")
    with serving(tmp_path, cluster, FREE, FEW_PODS, flags=flags) as server:
        until(lambda: ready(server), "the first lists")
        until(lambda: metric(server, "usable", "Pod.v1") == 0, "the end of it")
        wrong = message(server)
        assert "reads.pods (Pod): they take more memory than --max-read-bytes (1 MiB)" in wrong
        (line,) = until(lambda: server.lines("cluster"), "a line of the log")
        assert line["message"] == (
            "cannot follow reads (policies that read these objects cannot be evaluated): they take "
            "more memory than --max-read-bytes (1 MiB) leaves beside the other reads"
        )
        cluster.ingress("b", "shop.example.com")
        until(lambda: "policy 'wants' denied request: taken" in message(server), "other reads")
        assert metric(server, "usable") == 1
        assert metric(server, "bytes") < 10_000

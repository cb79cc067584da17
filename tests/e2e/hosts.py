"""Policies and Ingresses whose hosts must be free, and creates that collide. No tests here."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from time import monotonic

from policyd.json_types import JSONObject
from tests.builders.policies import policy, rule
from tests.builders.reviews import body, request
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.webhook import configuration
from tests.server.process import Process, until
from tests.shared import ROOT

LIBRARY = ROOT / "policies/cluster/free-ingress-hosts/policy.yaml"
INGRESSES = "networking.k8s.io/v1/ingresses"
HOSTS: JSONObject = {
    "name": "ingresses",
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "namespace": "any",
    "key": "item.spec.?rules.orValue([]).filter(r, has(r.host)).map(r, r.host)",
}
PODS: JSONObject = {
    "name": "pods",
    "apiVersion": "v1",
    "kind": "Pod",
    "namespace": "any",
    "key": "item.spec.?nodeName.orValue('none')",
}
FREE = (
    "object.spec.rules.all(r, reads.ingresses[?r.host].orValue([])"
    ".all(i, i.metadata.namespace == request.namespace))"
)
# Delays in seconds between two creates of one host, and creates a second.
DELAYS = (0.0, 0.01, 0.05, 0.25)
RATE = 50
_CLIENTS = 24


def reading(name: str, read: JSONObject, expression: str) -> JSONObject:
    """A policy of Ingresses with one read."""
    checks = [{"expression": expression, "message": "taken"}]
    ingresses = rule("ingresses", group="networking.k8s.io")
    return policy(name, ingresses, reads=[read], validations=checks)


def ingress(name: str, namespace: str, host: str) -> JSONObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "rules": [{"host": host}],
            "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}},
        },
    }


def pod_on(node: str, name: str, namespace: str, scheduler: str = "") -> JSONObject:
    spec = {"nodeName": node, "schedulerName": scheduler or "default-scheduler"}
    container = {"name": "a", "image": "registry.example.com/a:1"}
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**head, "spec": {**spec, "containers": [container]}}


class Asking:
    """Sends reviews of Ingresses to a policyd on one connection."""

    def __init__(self, server: Process) -> None:
        self._connection = server.connect()

    def close(self) -> None:
        self._connection.close()

    def why(self, host: str, namespace: str = "asking") -> str:
        """Why an Ingress for this host is denied; empty if it is not."""
        sent = ingress("probe", namespace, host)
        about = request(INGRESSES, "Ingress", namespace=namespace, name="probe")
        self._connection.request("POST", "/validate", body(object=sent, **about))
        answer = json.loads(self._connection.getresponse().read())["response"]
        return "" if answer["allowed"] else str(answer["status"]["message"])

    def denied(self, host: str) -> bool:
        return bool(self.why(host))


@contextmanager
def enforced(api: Cluster, port: int, namespaces: Sequence[str]) -> Iterator[None]:
    """The webhook at a port, for some namespaces, from when the API server calls it."""
    client = Client(api)
    labels = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [*namespaces]}
    selector = {"matchExpressions": [labels]}
    # Nobody is called but for what is created: a test deletes what it made.
    rules = [
        {
            "apiGroups": ["networking.k8s.io"],
            "apiVersions": ["v1"],
            "resources": ["ingresses"],
            "operations": ["CREATE"],
        }
    ]
    made = configuration(
        "validate", api, port, namespaces[0], namespaceSelector=selector, rules=rules
    )
    probe = ingress("probe", namespaces[0], "probe.example.com")
    with closing(client):
        client.made(ingress("probe", namespaces[1], "probe.example.com"))
        client.made(made)
        try:
            until(lambda: client.create(probe, dryRun="All").status == 422, "calls of the webhook")
            yield
        finally:
            client.deleted(made)
            until(lambda: client.create(probe, dryRun="All").status == 201, "no calls")
            client.deleted(ingress("probe", namespaces[1], "probe.example.com"))


@dataclass(frozen=True, slots=True)
class Create:
    """One create: when it began and ended, and whether the object was admitted."""

    began: float
    ended: float
    status: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two creates in two namespaces, of one host if they collide."""

    name: str
    collides: bool
    first: Create
    second: Create

    @property
    def admitted(self) -> int:
        return (self.first.status, self.second.status).count(201)

    @property
    def gap(self) -> float:
        """Seconds from the answer to one create until the other was sent; negative: both were under
        way at one moment.
        """
        first, second = self.first, self.second
        return max(second.began - first.ended, first.began - second.ended)


class Colliding:
    """Creates Ingresses at a steady rate, half of which collide with another one."""

    def __init__(self, api: Cluster, namespaces: tuple[str, str]) -> None:
        self._namespaces = namespaces
        self._clients: SimpleQueue[Client] = SimpleQueue()
        for _ in range(_CLIENTS):
            self._clients.put(Client(api))

    def run(self, seconds: float) -> list[Pair]:
        """The pairs of so many seconds."""
        with ThreadPoolExecutor(_CLIENTS) as pool:
            begun, sent = monotonic() + 0.5, []
            for number in range(int(seconds * RATE / 2)):
                at, name, collides = begun + number * 2 / RATE, f"pair-{number}", number % 2 == 0
                later = DELAYS[number // 2 % len(DELAYS)]
                Event().wait(max(0.0, at - monotonic()))
                futures = [
                    pool.submit(self._create, each, name, host, at + delay)
                    for each, host, delay in zip(
                        self._namespaces,
                        (f"{number}.example.com", f"{number}{'' if collides else 'b'}.example.com"),
                        (0.0, later),
                        strict=True,
                    )
                ]
                sent.append((name, collides, futures))
            pairs = [
                Pair(name, collides, *(f.result() for f in both)) for name, collides, both in sent
            ]
        while not self._clients.empty():
            self._clients.get().close()
        return pairs

    def _create(self, namespace: str, name: str, host: str, at: float) -> Create:
        Event().wait(max(0.0, at - monotonic()))
        client = self._clients.get()
        began = monotonic()
        answer = client.create(ingress(name, namespace, host))
        ended = monotonic()
        self._clients.put(client)
        return Create(began, ended, answer.status)


def write_hosts(folder: Path) -> Path:
    """A folder of sources with the policy of the library."""
    folder.mkdir()
    (folder / "policies.yaml").write_text(LIBRARY.read_text())
    return folder

"""Policies and Ingresses whose hosts must be free, and who asks about them. No tests here."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from statistics import median
from time import perf_counter

from policyd.json_types import JSONObject
from tests.builders.policies import policy, rule
from tests.builders.reviews import body, request
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.load import Creators
from tests.e2e.store import store
from tests.e2e.webhook import configuration
from tests.server.process import until
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
# By a field that no controller of a cluster acts on.
PODS: JSONObject = {
    "name": "pods",
    "apiVersion": "v1",
    "kind": "Pod",
    "namespace": "any",
    "key": "item.spec.?schedulerName.orValue('none')",
}
FREE = (
    "object.spec.rules.all(r, reads.ingresses[?r.host].orValue([])"
    ".all(i, i.metadata.namespace == request.namespace))"
)


TAKEN = "taken"
MANY = "many-"


def reading(name: str, read: JSONObject, expression: str) -> JSONObject:
    """A policy of Ingresses with one read."""
    checks = [{"expression": expression, "message": TAKEN}]
    ingresses = rule("ingresses", group="networking.k8s.io")
    return policy(name, ingresses, reads=[read], validations=checks)


READ_PODS = reading("pods", PODS, "!('full' in reads.pods)")
READ_HOSTS = reading("hosts", HOSTS, FREE)
# Two fields of each Pod.
READ_FEW = reading(
    "few",
    PODS,
    "reads.pods[?object.spec.rules[0].host].orValue([]).all(p, p.spec.?hostname.orValue('') != 'full')",
)
# Its reads are errors soon after the connection is lost.
FRESH = reading("fresh", {**HOSTS, "maxStalenessSeconds": 20}, "size(reads.ingresses) >= 0")


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


def pod_of(scheduler: str, name: str, namespace: str, hostname: str = "") -> JSONObject:
    """A Pod that waits for a scheduler."""
    spec = {"schedulerName": scheduler, **({"hostname": hostname} if hostname else {})}
    container = {"name": "a", "image": "registry.example.com/a:1"}
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**head, "spec": {**spec, "containers": [container]}}


def store_many(api: Cluster, ingresses: int, pods: int) -> None:
    """Put so many objects into 100 namespaces, whose names begin with ``MANY``."""
    hosts = (ingress(f"i{n:05}", f"{MANY}{n % 100}", f"{n}.example.com") for n in range(ingresses))
    store(api, "ingress", hosts)
    waiting = (pod_of(f"scheduler-{n % 500}", f"p{n:05}", f"{MANY}{n % 100}") for n in range(pods))
    store(api, "pods", waiting)


class Asking:
    """Sends reviews of Ingresses to a policyd on one connection."""

    def __init__(self, connection: HTTPSConnection) -> None:
        self._connection = connection

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


def write_hosts(folder: Path) -> Path:
    """A folder of sources with the policy of the library."""
    folder.mkdir()
    (folder / "policies.yaml").write_text(LIBRARY.read_text())
    return folder


class FreeHosts(Creators):
    """Creates Ingresses of hosts that are free."""

    def __init__(self, api: Cluster, namespace: str) -> None:
        super().__init__(api, 4)
        self.refused: list[object] = []
        self._namespace = namespace
        self._done = 0

    def create(self, client: Client, number: int, index: int) -> None:
        name = f"load-{number}-{index}"
        answer = client.create(ingress(name, self._namespace, f"{name}.example.com"))
        self._done += 1
        if answer.status != 201:
            self.refused.append(answer.body)

    @property
    def count(self) -> int:
        return self._done


def delays(client: Client, namespace: str, asking: Sequence[Asking]) -> Iterator[str]:
    """Yield, for Ingresses and Pods, how long one decides nothing after it was created, for the last of several policyds
    with ``READ_HOSTS`` and ``READ_FEW``.
    """
    times: dict[str, list[float]] = {"Ingress": [], "Pod": []}
    for number in range(20):
        host, scheduler = f"late-{number}.example.com", f"late-{number}"
        for kind, made, asked in (
            ("Ingress", ingress(f"late-{number}", namespace, host), host),
            ("Pod", pod_of(scheduler, f"late-{number}", namespace, "full"), scheduler),
        ):
            assert not any(each.denied(asked) for each in asking)
            client.made(made)
            began = perf_counter()
            for each in asking:
                while not each.denied(asked):
                    assert perf_counter() - began < 60
            times[kind].append(1000 * (perf_counter() - began))
    for kind, taken in times.items():
        assert median(taken) < 1000
        yield f"{kind} created to enforced: median {median(taken):.1f} ms, most {max(taken):.1f}"


def total(metrics: str, beginning: str) -> int:
    """Return the sum of the series that begin so."""
    rows = metrics.splitlines()
    return int(sum(float(each.rpartition(" ")[2]) for each in rows if each.startswith(beginning)))


def kinds_read(metrics: str) -> set[str]:
    rows = metrics.splitlines()
    return {row.split('"')[1] for row in rows if row.startswith("policyd_read_usable{")}

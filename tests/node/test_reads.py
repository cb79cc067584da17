"""Policies with reads: each replica follows the objects, and decides by what it knows of them.

With ``POLICYD_SAMPLE=1`` the loads last as long, and the objects are as many, as docs/write/reads.md and
docs/operate/cluster-lookups.md report.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from http.client import HTTPSConnection
from time import perf_counter, sleep
from typing import Any

import pytest
import yaml

from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.colliding import Colliding, by_gap, raced, scanned
from tests.e2e.conftest import make_namespace
from tests.e2e.hosts import (
    FRESH,
    HOSTS,
    LIBRARY,
    MANY,
    READ_FEW,
    READ_HOSTS,
    READ_PODS,
    Asking,
    FreeHosts,
    delays,
    ingress,
    kinds_read,
    reading,
    store_many,
    total,
)
from tests.e2e.store import remove
from tests.node.documents import forbidden
from tests.node.editing import edited, enforce
from tests.node.installation import SELECTOR, Installation, ensure, managed
from tests.node.machine import Node, until
from tests.node.report import Report
from tests.sampling import share
from tests.server.process import trusting

WHOLE = share() == 1
SECONDS = 60.0 if WHOLE else 10.0
LOSS = 60.0 if WHOLE else 25.0
INGRESSES, PODS = (10_000, 50_000) if WHOLE else (1_000, 5_000)
MOST = 256  # MiB that the objects may take
KINDS = [
    {"apiGroup": "networking.k8s.io", "resource": "ingresses"},
    {"apiGroup": "", "resource": "pods"},
]
# What Pods and the API server send each other about the Pods' own requests.
WAYS = {
    "input": "ip saddr 10.244.0.0/24 tcp dport 6443",
    "output": "ip daddr 10.244.0.0/24 tcp sport 6443",
}


@pytest.fixture
def policyd(node: Node, report: Report) -> Iterator[Installation]:
    installed = ensure(node, report, {**managed(), "reads": {"kinds": KINDS}}, "with reads")
    yield installed
    edited(installed, forbidden("none"))


@pytest.fixture
def api(policyd: Installation) -> Iterator[Cluster]:
    with policyd.node.network() as running:
        yield running


@pytest.fixture
def client(api: Cluster) -> Iterator[Client]:
    with closing(Client(api)) as made:
        yield made


@pytest.fixture
def pair(client: Client, request: pytest.FixtureRequest) -> tuple[str, str]:
    """Two namespaces."""
    name = request.node.name.replace("_", "-")[:50]
    names = (f"{name}-a", f"{name}-b")
    for each in names:
        make_namespace(client, each)
    return names


@contextmanager
def replicas(policyd: Installation) -> Iterator[list[Asking]]:
    """A connection to each replica, past the Service."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Asking(_connection(each)))) for each in policyd.pods()]


def _connection(pod: Any) -> HTTPSConnection:
    return HTTPSConnection(pod["status"]["podIP"], 8443, context=trusting(), timeout=20)


def _metrics(policyd: Installation) -> dict[str, str]:
    return {name: policyd.page(name, "/metrics") for name in policyd.names()}


def _called(client: Client, pair: tuple[str, str]) -> None:
    """Wait until the API server asks policyd about Ingresses."""
    client.made(ingress("first", pair[0], "first.example.com"))
    probe = ingress("first", pair[1], "first.example.com")
    until(lambda: client.create(probe, dryRun="All").status == 422, "calls of the webhook")
    client.deleted(ingress("first", pair[0], "first.example.com"))


def test_colliding_hosts(
    policyd: Installation, report: Report, api: Cluster, client: Client, pair: tuple[str, str]
) -> None:
    """Of two creates of one host, seconds apart, one passes. At one moment both can: scans find them."""
    enforce(policyd, yaml.safe_load_all(LIBRARY.read_text()))
    _called(client, pair)
    before = {
        name: total(text, "policyd_admission_requests_total{")
        for name, text in _metrics(policyd).items()
    }
    done = Colliding(api, pair).run(SECONDS)
    calls = sorted(
        total(text, "policyd_admission_requests_total{") - before[name]
        for name, text in _metrics(policyd).items()
    )
    for line in by_gap(done):
        report.progress(line)
    both = raced(done)
    statuses = Counter(each.status for one in done for each in (one.first, one.second))
    report.figure(
        f"{2 * len(done):,} creates of Ingresses in {SECONDS:.0f} s: admitted, denied, raced pairs",
        f"{statuses[201]:,}, {statuses[422]:,}, {len(both):,}; calls of the replicas: {calls}",
    )
    wanted = {(namespace, each.name) for namespace in pair for each in both}
    assert scanned(policyd.node.folder / "kubeconfig") == wanted


def test_a_restart_of_the_api_server(
    policyd: Installation, report: Report, api: Cluster, client: Client, pair: tuple[str, str]
) -> None:
    enforce(policyd, [READ_HOSTS])
    _called(client, pair)
    client.made(ingress("a", pair[0], "a.example.com"))
    with replicas(policyd) as asking:
        until(lambda: all(each.denied("a.example.com") for each in asking), "the event")
        node = policyd.node
        node.inside("pkill", "-TERM", "-x", "kube-apiserver")
        running = ["pgrep", "-x", "kube-apiserver"]
        until(lambda: node.inside("sh", "-c", f"{' '.join(running)} || true") == "", "its end")
        sleep(5)
        assert all(each.denied("a.example.com") for each in asking)
        assert not any(each.denied("b.example.com") for each in asking)
        node.start_api_server()
        until(lambda: _ready(api), "the API server")
        began = perf_counter()
        with closing(Client(api)) as again:
            again.made(ingress("b", pair[0], "b.example.com"))
        until(lambda: all(each.denied("b.example.com") for each in asking), "the event")
        report.figure(
            "API server ready after a restart to enforcement by all replicas",
            f"{perf_counter() - began:.1f} s",
        )
    policyd.settle()


def _ready(api: Cluster) -> bool:
    try:
        return api.request("GET", "/readyz")[0] == 200
    except OSError:
        return False


def test_lost_packets(
    policyd: Installation, report: Report, client: Client, pair: tuple[str, str]
) -> None:
    """Decisions go on with what is known, until it is older than a read allows."""
    enforce(policyd, [READ_HOSTS, FRESH])
    _called(client, pair)
    host, node = "lost.example.com", policyd.node
    with replicas(policyd) as asking:
        assert not any(each.denied(host) for each in asking)
        chains = (
            f"chain {way} {{ type filter hook {way} priority 0; {packets} drop; }}\n"
            for way, packets in WAYS.items()
        )
        node.inside("nft", f"table inet lost {{\n{''.join(chains)}}}\n")
        began = perf_counter()
        try:
            client.made(ingress("lost", pair[0], host))
            old = until_text(asking, "the objects are ")
            report.figure(
                "packets between Pods and API server lost: maxStalenessSeconds 20 denies after",
                f"{perf_counter() - began:.1f} s",
            )
            assert all("reads.ingresses (Ingress): " in each for each in old)
            assert not any("policy 'hosts'" in each.why(host) for each in asking)
            sleep(max(0, LOSS - (perf_counter() - began)))
            assert not any("policy 'hosts'" in each.why(host) for each in asking)
        finally:
            node.inside("nft", "delete table inet lost")
        began = perf_counter()
        known = "policy 'hosts' denied request: taken"
        until(lambda: all(known in each.why(host) for each in asking), "what happened meanwhile")
        report.figure(
            f"packets lost for {LOSS:.0f} s: end to enforcement by all replicas",
            f"{perf_counter() - began:.1f} s",
        )
        until(lambda: all(each.why(host) == known for each in asking), "fresh objects")
    policyd.settle()


def until_text(asking: list[Asking], text: str) -> list[str]:
    """Wait until every replica denies a free host with a message that has this text; the messages."""
    until(lambda: all(text in each.why("free.example.com") for each in asking), text)
    return [each.why("free.example.com") for each in asking]


@pytest.mark.timeout(1800)
def test_many_objects(
    policyd: Installation, report: Report, api: Cluster, client: Client, pair: tuple[str, str]
) -> None:
    bare = reading("hosts", HOSTS, "true")
    del bare["spec"]["reads"]
    resident: dict[str, int] = {}
    store_many(api, INGRESSES, PODS)
    try:
        for name, documents, wanted in (
            ("no read", [bare], 0),
            (f"{INGRESSES:,} Ingresses by host", [READ_HOSTS], INGRESSES),
            (f"{PODS:,} Pods by scheduler", [READ_FEW], PODS),
            ("both", [READ_HOSTS, READ_FEW], INGRESSES + PODS),
        ):
            took = enforce(policyd, documents)
            policyd.kubectl("delete", "pods", "-l", SELECTOR)
            policyd.settle()
            assert all(
                total(text, "policyd_read_objects{") >= wanted
                for text in _metrics(policyd).values()
            )
            resident[name] = max(_resident(policyd, "VmRSS"))
            report.figure(
                f"{name}: memory of a Pod, at most; reload; start to Ready",
                f"{resident[name]} MiB, {max(_resident(policyd, 'VmHWM'))} MiB; {took:.1f} s; "
                f"{max(map(_start, policyd.pods())):.0f} s",
            )
        _called(client, pair)
        with replicas(policyd) as asking:
            for line in delays(client, pair[0], asking):
                report.figure(*line.split(": ", 1))
    finally:
        for folder in ("ingress", "pods"):
            remove(api, f"{folder}/{MANY}")
    assert resident["both"] - resident["no read"] < MOST


def _resident(policyd: Installation, field: str) -> list[int]:
    """MiB of each replica."""
    texts = [
        policyd.node.inside("grep", field, f"/proc/{each}/status") for each in policyd.processes()
    ]
    return [int(text.split()[1]) >> 10 for text in texts]


def _start(pod: Any) -> float:
    """Seconds from the start of the container until the Pod was Ready."""
    [ready] = [each for each in pod["status"]["conditions"] if each["type"] == "Ready"]
    began = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    return (
        datetime.fromisoformat(ready["lastTransitionTime"]) - datetime.fromisoformat(began)
    ).total_seconds()


def test_a_reload_that_adds_and_removes_reads(
    policyd: Installation, report: Report, api: Cluster, client: Client, pair: tuple[str, str]
) -> None:
    enforce(policyd, [READ_HOSTS])
    _called(client, pair)
    load = FreeHosts(api, pair[0])
    load.start()
    try:
        until(load.more(20), "some load")
        for documents, kinds in (
            ([READ_HOSTS, READ_PODS], {"Ingress.v1.networking.k8s.io", "Pod.v1"}),
            ([READ_PODS], {"Pod.v1"}),
            ([READ_HOSTS], {"Ingress.v1.networking.k8s.io"}),
        ):
            took = enforce(policyd, documents)
            read = " and ".join(sorted(each.partition(".")[0] for each in kinds))
            report.figure(f"reload under load to reads of {read}", f"{took:.1f} s")
            until(lambda: all(kinds_read(text) == kinds for text in _metrics(policyd).values()), "")  # noqa: B023
            until(load.more(20), "some load with it")
            with replicas(policyd) as asking:
                followed = "Ingress.v1.networking.k8s.io" in kinds
                assert all(each.denied("load-0-0.example.com") is followed for each in asking)
    finally:
        load.stop()
    report.figure("creates during the reloads: refused", f"{load.count:,}: {len(load.refused)}")
    assert load.refused == []

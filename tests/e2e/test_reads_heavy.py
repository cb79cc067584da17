"""Reads on a real API server under load: races, losses of the connection, and many objects.

``make acceptance`` runs them. What they print is in docs/write/reads.md and docs/develop/performance.md.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.hosts import (
    FREE,
    HOSTS,
    LIBRARY,
    PODS,
    Asking,
    Colliding,
    enforced,
    ingress,
    pod_on,
    reading,
    write_hosts,
)
from tests.e2e.load import Creators
from tests.e2e.replicas import Gate, Service, admin_kubeconfig, replicas
from tests.e2e.reporting import ReportCommand, names, report_definitions, stored
from tests.e2e.restarting import Restarting
from tests.e2e.store import store
from tests.e2e.webhook import serving, write
from tests.sampling import share
from tests.server.process import Process, until

pytestmark = pytest.mark.skipif(
    share() < 1, reason="POLICYD_SAMPLE=1 runs it: loads, restarts and many objects take minutes"
)
SECONDS = 60.0
# Seconds between the answer to a create and when another of its host is sent; below 0: both are under
# way at one moment.
GAPS = (-inf, 0.0, 0.005, 0.02, 0.1, inf)
READ_PODS = reading("pods", PODS, "!('full' in reads.pods)")
READ_HOSTS = reading("hosts", HOSTS, FREE)
# Two fields of each Pod.
FEW = reading(
    "few",
    PODS,
    "reads.pods[?object.spec.rules[0].host].orValue([]).all(p, p.spec.schedulerName != 'none')",
)


def ready(server: Process) -> bool:
    return server.get("/readyz")[1] == "ok"


@pytest.fixture
def pair(client: Client, namespace: str) -> tuple[str, str]:
    """Two namespaces."""
    names = (f"{namespace[:40]}-a", f"{namespace[:40]}-b")
    for each in names:
        make_namespace(client, each)
    return names


def test_races_between_three_replicas(
    api: Cluster, client: Client, pair: tuple[str, str], tmp_path: Path
) -> None:
    """Of two creates of one host, seconds apart, one passes. At one moment both can: scans find them."""
    kubeconfig = admin_kubeconfig(api, tmp_path / "kubeconfig")
    sources = write_hosts(tmp_path / "policies")
    for each in pair:  # before there was a webhook
        client.made(ingress("planted", each, "planted.example.com"))
    with (
        replicas(api, 3, sources, tmp_path, kubeconfig=str(kubeconfig)) as servers,
        closing(Service(*(each.port for each in servers))) as service,
    ):
        until(lambda: all(map(ready, servers)), "the first lists")
        with enforced(api, service.port, pair):
            done = Colliding(api, pair).run(SECONDS)
        calls = [_sum(each, "policyd_admission_requests_total{") for each in servers]
    statuses = Counter(each.status for one in done for each in (one.first, one.second))
    print(f"{2 * len(done)} creates in {SECONDS:.0f} s: {dict(statuses)}; calls: {calls}")
    assert set(statuses) == {201, 422}
    assert all(each.admitted == 2 for each in done if not each.collides)
    colliding = [each for each in done if each.collides]
    assert all(each.admitted >= 1 for each in colliding)
    for least, most in pairwise(GAPS):
        some = [each for each in colliding if least <= each.gap < most]
        both = sum(each.admitted == 2 for each in some)
        print(
            f"  sent {least} to {most} s after the answer: {len(some)} pairs, both passed: {both}"
        )
    raced = [each for each in colliding if each.admitted == 2]
    assert all(each.gap < 1 for each in raced)
    slipped = {"planted", *(each.name for each in raced)}
    wanted = {(namespace, name) for namespace in pair for name in slipped}
    assert _scanned(kubeconfig) == wanted
    _check_reports(api, client, kubeconfig, tmp_path, wanted)


def _sum(server: Process, beginning: str) -> int:
    """The sum of the metrics that begin so."""
    rows = server.get("/metrics")[1].splitlines()
    return int(sum(float(each.rpartition(" ")[2]) for each in rows if each.startswith(beginning)))


def _scanned(kubeconfig: Path) -> set[tuple[str, str]]:
    arguments = ["apply", "--cluster", "--kubeconfig", str(kubeconfig), "-p", str(LIBRARY)]
    done = CliRunner().invoke(policyd, [*arguments, "--format", "json"])
    denied = [each for each in json.loads(done.stdout) if not each["allowed"]]
    return {(each["namespace"], each["name"]) for each in denied}


def _check_reports(
    api: Cluster, client: Client, kubeconfig: Path, folder: Path, wanted: set[tuple[str, str]]
) -> None:
    definitions = report_definitions("openreports.io")
    try:
        for each in definitions:
            client.made(each)
        until(lambda: client.send("GET", "/apis/openreports.io/v1alpha1").status == 200, "the API")
        done = ReportCommand(kubeconfig, LIBRARY, folder)()
        assert done.status == 0, done.stderr
        uids = {
            client.get(ingress(name, namespace, "")).body["metadata"]["uid"]
            for namespace, name in wanted
        }
        assert names(stored(client)) == uids
    finally:
        for each in definitions:
            client.deleted(each)


def test_a_restart_of_the_api_server(tmp_path: Path) -> None:
    running = Restarting(tmp_path)
    with running.store(), ExitStack() as stack:
        api = running.start()
        with closing(Client(api)) as client:
            client.made(ingress("a", "default", "a.example.com"))
        kubeconfig = str(admin_kubeconfig(api, tmp_path / "kubeconfig"))
        sources = write(tmp_path / "policies", [READ_HOSTS])
        log = tmp_path / "policyd.log"
        server = stack.enter_context(serving(api, [sources], log, kubeconfig=kubeconfig))
        asking = stack.enter_context(closing(Asking(server)))
        until(lambda: ready(server), "the first list")
        assert asking.denied("a.example.com")
        running.stop()
        until(lambda: _staleness(server) > 1, "the loss")
        assert asking.denied("a.example.com")
        assert not asking.denied("b.example.com")
        api, began = running.start(), perf_counter()
        with closing(Client(api)) as client:
            client.made(ingress("b", "default", "b.example.com"))
        until(lambda: asking.denied("b.example.com"), "the event")
        print(f"API server ready to enforcement: {perf_counter() - began:.2f} s")


def _staleness(server: Process) -> float:
    return server.metric('policyd_read_staleness_seconds{kind="Ingress.v1.networking.k8s.io"}')


def test_a_watch_that_is_cut_for_a_minute(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """Decisions go on with what is known, until it is older than a read allows."""
    fresh = reading("fresh", {**HOSTS, "maxStalenessSeconds": 20}, "size(reads.ingresses) >= 0")
    sources = write(tmp_path / "policies", [READ_HOSTS, fresh])
    with ExitStack() as stack:
        gate = stack.enter_context(closing(Gate(api)))
        kubeconfig = str(admin_kubeconfig(api, tmp_path / "kubeconfig", gate.port))
        server = stack.enter_context(
            serving(api, [sources], tmp_path / "policyd.log", kubeconfig=kubeconfig)
        )
        asking = stack.enter_context(closing(Asking(server)))
        until(lambda: ready(server), "the first list")
        assert not asking.denied("cut.example.com")
        gate.cut()
        began = perf_counter()
        client.made(ingress("cut", namespace, "cut.example.com"))
        old = until(lambda: asking.why("cut.example.com"), "the end of what fresh allows")
        print(f"maxStalenessSeconds 20 denies after {perf_counter() - began:.1f} s")
        assert "reads.ingresses (Ingress): the objects are " in old
        assert "policy 'hosts'" not in old
        until(lambda: perf_counter() - began > SECONDS, "a minute")
        assert "policy 'hosts'" not in asking.why("cut.example.com")
        gate.open()
        began = perf_counter()
        until(lambda: "policy 'hosts'" in asking.why("cut.example.com"), "what happened meanwhile")
        print(f"connection to enforcement: {perf_counter() - began:.2f} s")
        assert asking.why("cut.example.com") == "policy 'hosts' denied request: taken"


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[Cluster]:
    """An API server with 10,000 Ingresses and 50,000 Pods."""
    folder = tmp_path / "apiserver"
    folder.mkdir()
    with cluster(folder) as running:
        hosts = (ingress(f"i{n:05}", f"n{n % 100}", f"{n}.example.com") for n in range(10_000))
        store(running, "ingress", hosts)
        pods = (pod_on(f"node-{n % 500}", f"p{n:05}", f"n{n % 100}") for n in range(50_000))
        store(running, "pods", pods)
        yield running


def test_many_objects(crowded: Cluster, tmp_path: Path) -> None:
    kubeconfig = str(admin_kubeconfig(crowded, tmp_path / "kubeconfig"))
    bare = reading("hosts", HOSTS, "true")
    del bare["spec"]["reads"]
    resident: dict[str, int] = {}
    for name, documents, wanted in (
        ("no read", [bare], 0),
        ("10,000 Ingresses by host", [READ_HOSTS], 10_000),
        ("50,000 Pods by node", [FEW], 50_000),
        ("both", [READ_HOSTS, FEW], 60_000),
    ):
        sources, log = write(tmp_path / "policies", documents), tmp_path / "policyd.log"
        began = perf_counter()
        with serving(crowded, [sources], log, kubeconfig=kubeconfig) as server:
            until(lambda: ready(server), "the first lists")
            took = perf_counter() - began
            resident[name] = server.resident() >> 20
            objects, kept = (
                _sum(server, f"policyd_read_{each}{{") for each in ("objects", "bytes")
            )
            print(
                f"{name}: ready after {took:.2f} s and {_cpu(server):.2f} s of CPU, {resident[name]} MiB resident "
                f"(at most {server.resident('VmHWM') >> 20}), policyd_read_bytes {kept / 2**20:.1f} MiB"
            )
            assert objects == wanted
            if name == "both":
                _measure(crowded, server)
    assert resident["both"] - resident["no read"] < 256


def _cpu(server: Process) -> float:
    """Seconds of CPU time that it took so far."""
    fields = Path(f"/proc/{server.child.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _measure(api: Cluster, server: Process) -> None:
    """Print how long an event takes until it decides."""
    with closing(Client(api)) as client, closing(Asking(server)) as asking:
        make_namespace(client, "late")
        times: dict[str, list[float]] = {"Ingress": [], "Pod": []}
        for number in range(20):
            host, node = f"late-{number}.example.com", f"node-late-{number}"
            for kind, made, asked in (
                ("Ingress", ingress(f"late-{number}", "late", host), host),
                ("Pod", pod_on(node, f"late-{number}", "late", "none"), node),
            ):
                assert not asking.denied(asked)
                client.made(made)
                began = perf_counter()
                while not asking.denied(asked):
                    assert perf_counter() - began < 60
                times[kind].append(1000 * (perf_counter() - began))
        for kind, taken in times.items():
            print(
                f"{kind} created to enforced: median {median(taken):.1f} ms, most {max(taken):.1f}"
            )
            assert median(taken) < 1000


class _Free(Creators):
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


def test_a_reload_that_adds_and_removes_reads(
    api: Cluster, client: Client, pair: tuple[str, str], tmp_path: Path
) -> None:
    kubeconfig = str(admin_kubeconfig(api, tmp_path / "kubeconfig"))
    folder = tmp_path / "policies"
    with ExitStack() as stack:
        log = tmp_path / "policyd.log"
        sources = write(folder, [READ_HOSTS])
        server = stack.enter_context(serving(api, [sources], log, kubeconfig=kubeconfig))
        until(lambda: ready(server), "the first list")
        stack.enter_context(enforced(api, server.port, pair))
        load = _Free(api, pair[0])
        load.start()
        stack.callback(load.stop)
        until(load.more(20), "some load")
        for documents, kinds in (
            ([READ_HOSTS, READ_PODS], {"Ingress.v1.networking.k8s.io", "Pod.v1"}),
            ([READ_PODS], {"Pod.v1"}),
            ([READ_HOSTS], {"Ingress.v1.networking.k8s.io"}),
        ):
            before, began = _generation(server), perf_counter()
            write(folder, documents)
            until(lambda: _generation(server) != before, "the new set")  # noqa: B023
            print(f"{sorted(kinds)}: in use after {perf_counter() - began:.2f} s")
            until(lambda: _kinds(server) == kinds, "its reads")  # noqa: B023
            until(load.more(20), "some load with it")
            with closing(Asking(server)) as asking:
                assert asking.denied("probe.example.com") is (
                    "Pod.v1" not in kinds or len(kinds) > 1
                )
        load.stop()
        print(f"{load.count} creates, {len(load.refused)} refused")
        assert load.refused == []
        assert server.lines("defect") == []


def _generation(server: Process) -> str:
    found: str = json.loads(server.get("/policies")[1])["generation"]
    return found


def _kinds(server: Process) -> set[str]:
    rows = server.get("/metrics")[1].splitlines()
    return {row.split('"')[1] for row in rows if row.startswith("policyd_read_usable{")}

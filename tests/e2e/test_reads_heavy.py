"""Reads on a real API server under load: races, losses of the connection, and many objects.

``make acceptance`` runs them. What they print is in docs/write/reads.md and docs/develop/performance.md.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter

import pytest

from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.colliding import Colliding, by_gap, raced, scanned
from tests.e2e.conftest import make_namespace
from tests.e2e.hosts import (
    FRESH,
    HOSTS,
    LIBRARY,
    READ_FEW,
    READ_HOSTS,
    READ_PODS,
    Asking,
    FreeHosts,
    delays,
    enforced,
    ingress,
    kinds_read,
    reading,
    store_many,
    total,
    write_hosts,
)
from tests.e2e.replicas import Gate, Service, admin_kubeconfig, replicas
from tests.e2e.reporting import ReportCommand, names, report_definitions, stored
from tests.e2e.restarting import Restarting
from tests.e2e.webhook import serving, write
from tests.sampling import share
from tests.server.process import Process, until

pytestmark = pytest.mark.skipif(
    share() < 1, reason="POLICYD_SAMPLE=1 runs it: loads, restarts and many objects take minutes"
)
SECONDS = 60.0


def ready(server: Process) -> bool:
    return server.get("/readyz")[1] == "ok"


def _metrics(server: Process) -> str:
    return server.get("/metrics")[1]


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
        calls = [total(_metrics(each), "policyd_admission_requests_total{") for each in servers]
    statuses = Counter(each.status for one in done for each in (one.first, one.second))
    print(f"{2 * len(done)} creates in {SECONDS:.0f} s: {dict(statuses)}; calls: {calls}")
    print(*by_gap(done), sep="\n")
    slipped = {"planted", *(each.name for each in raced(done))}
    wanted = {(namespace, name) for namespace in pair for name in slipped}
    assert scanned(kubeconfig) == wanted
    _check_reports(api, client, kubeconfig, tmp_path, wanted)


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
        asking = stack.enter_context(closing(Asking(server.connect())))
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
    sources = write(tmp_path / "policies", [READ_HOSTS, FRESH])
    with ExitStack() as stack:
        gate = stack.enter_context(closing(Gate(api)))
        kubeconfig = str(admin_kubeconfig(api, tmp_path / "kubeconfig", gate.port))
        server = stack.enter_context(
            serving(api, [sources], tmp_path / "policyd.log", kubeconfig=kubeconfig)
        )
        asking = stack.enter_context(closing(Asking(server.connect())))
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
        store_many(running, 10_000, 50_000)
        yield running


def test_many_objects(crowded: Cluster, tmp_path: Path) -> None:
    kubeconfig = str(admin_kubeconfig(crowded, tmp_path / "kubeconfig"))
    bare = reading("hosts", HOSTS, "true")
    del bare["spec"]["reads"]
    resident: dict[str, int] = {}
    for name, documents, wanted in (
        ("no read", [bare], 0),
        ("10,000 Ingresses by host", [READ_HOSTS], 10_000),
        ("50,000 Pods by scheduler", [READ_FEW], 50_000),
        ("both", [READ_HOSTS, READ_FEW], 60_000),
    ):
        sources, log = write(tmp_path / "policies", documents), tmp_path / "policyd.log"
        began = perf_counter()
        with serving(crowded, [sources], log, kubeconfig=kubeconfig) as server:
            until(lambda: ready(server), "the first lists")
            took = perf_counter() - began
            resident[name] = server.resident() >> 20
            objects, kept = (
                total(_metrics(server), f"policyd_read_{each}{{") for each in ("objects", "bytes")
            )
            print(
                f"{name}: ready after {took:.2f} s and {_cpu(server):.2f} s of CPU, {resident[name]} MiB resident "
                f"(at most {server.resident('VmHWM') >> 20}), policyd_read_bytes {kept / 2**20:.1f} MiB"
            )
            assert objects == wanted
            if name == "both":
                with (
                    closing(Client(crowded)) as client,
                    closing(Asking(server.connect())) as asking,
                ):
                    make_namespace(client, "late")
                    print(*delays(client, "late", [asking]), sep="\n")
    assert resident["both"] - resident["no read"] < 256


def _cpu(server: Process) -> float:
    """Seconds of CPU time that it took so far."""
    fields = Path(f"/proc/{server.child.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


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
        load = FreeHosts(api, pair[0])
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
            until(lambda: kinds_read(_metrics(server)) == kinds, "its reads")  # noqa: B023
            until(load.more(20), "some load with it")
            with closing(Asking(server.connect())) as asking:
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

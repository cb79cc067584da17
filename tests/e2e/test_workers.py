"""``serve --workers`` against a real API server: one worker at a time writes for all."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.e2e import in_cluster
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, free_ports
from tests.e2e.webhook import write
from tests.server.process import Process, until

NAME = "of-workers"
NO_BAD = policy(
    "no-bad", CONFIG_MAPS, validations=[demand("object.metadata.name != 'bad'", "bad name")]
)


@pytest.fixture
def server(api: Cluster, client: Client, namespace: str, tmp_path: Path) -> Iterator[Process]:
    """A server of two workers that registers itself and manages its certificates."""
    in_cluster.remove_configurations(client, NAME)
    [port] = free_ports(1)
    flags = {
        "register": "",
        "manage_certificates": "",
        "workers": "2",
        "bind": f"127.0.0.1:{port}",
        "webhook_url": f"https://127.0.0.1:{port}",
        "webhook_name": NAME,
    }
    sources = write(tmp_path / "policies", [NO_BAD])
    config = in_cluster.kubeconfig(api, tmp_path)
    log = tmp_path / "server.log"
    with in_cluster.replica(config, sources, log, namespace, **flags) as process:
        yield process
    in_cluster.remove_configurations(client, NAME)


def leaders(server: Process) -> list[int]:
    """The workers that began to write for all, in this order."""
    lines = server.lines("lease")
    return [line["worker"] for line in lines if line["message"] == "this replica writes for all"]


def holder(client: Client, namespace: str) -> str:
    lease = client.send("GET", in_cluster.LEASE.format(namespace)).body
    identity: str = lease["spec"]["holderIdentity"]
    return identity


def test_another_worker_writes_when_the_first_one_dies(
    server: Process, client: Client, namespace: str
) -> None:
    until(lambda: server.lines("workers"), "all workers")
    until(lambda: in_cluster.configurations(client, NAME), "the registration")
    assert len(leaders(server)) == 1
    first = holder(client, namespace)
    assert server.metric("policyd_leader") == 1
    made = config_map("bad", "default")
    path = "/api/v1/namespaces/default/configmaps?dryRun=All"
    until(lambda: client.send("POST", path, made).status == 422, "the denial")
    pid = server.child.pid
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(workers[leaders(server)[0]]), signal.SIGKILL)
    until(lambda: server.metric("policyd_worker_restarts_total") == 1, "another worker")
    # The Lease of the dead one expires, as that of a dead replica.
    until(lambda: len(leaders(server)) == 2, "another writer")
    assert holder(client, namespace) != first
    assert server.metric("policyd_leader") == 1
    assert client.send("POST", path, made).status == 422
    assert server.terminate() == 0

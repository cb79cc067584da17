"""``policyd compare`` with requests that a real API server sent: the webhook of another process is
reached through the API server's proxy, by the configuration in the cluster.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import config_map, pod
from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy
from tests.e2e import in_cluster
from tests.e2e.client import MERGE, Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import Install
from tests.e2e.webhook import KINDS, configuration, serving, write
from tests.server.process import until

SMALL = demand("size(object.data) < 2", "not so many")
OWNED = labelling("owner", "'a'")


@pytest.fixture
def address() -> str:
    """An address of this machine that the API server may call as an endpoint."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("needs a network interface: the API server calls no loopback endpoint")
        return str(probe.getsockname()[0])


@pytest.fixture
def captures(install: Install, client: Client, namespace: str, tmp_path: Path) -> Path:
    """The requests to create two ConfigMaps, one of them refused, as policyd recorded them."""
    folder = tmp_path / "capture"
    policies = [policy("small", CONFIG_MAPS, validations=[SMALL])]
    policies.append(policy("owned", CONFIG_MAPS, mutations=[OWNED]))
    install(*policies, capture=str(folder))
    for name, data in (("one", {"a": "1"}), ("two", {"a": "1", "b": "2"})):
        client.create({**config_map(name, namespace), "data": data})

    def recorded() -> list[str]:
        lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
        return [line for line in lines if '"name":"one"' in line or '"name":"two"' in line]

    until(lambda: len(recorded()) == 4, "both webhooks to record both requests")
    file = tmp_path / "captures.jsonl"
    file.write_text("\n".join(recorded()))
    return file


@pytest.fixture
def against(
    api: Cluster, client: Client, namespace: str, address: str, tmp_path: Path
) -> Iterator[str]:
    """A Service, called by configurations of the cluster, behind which other policies decide."""
    others = [
        policy("small", CONFIG_MAPS, validations=[demand("true", "never")]),
        policy("owned", CONFIG_MAPS, mutations=[labelling("owner", "'b'")]),
    ]
    metadata = {"name": "other", "namespace": namespace}
    spec = {"ports": [{"port": 443}]}
    with ExitStack() as stack:
        sources = [write(tmp_path / "others", others)]
        log = tmp_path / "other.log"
        other = stack.enter_context(serving(api, sources, log, bind=f"{address}:0"))
        client.made({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        _endpoint(client, metadata, address, other.port)
        for webhook in KINDS:
            hooks = configuration(webhook, api, 443, namespace, failurePolicy="Ignore")
            hooks["metadata"] = {"name": f"other-{webhook}"}
            hooks["webhooks"][0]["clientConfig"] = {"service": {**metadata, "path": f"/{webhook}"}}
            client.made(hooks)
            stack.callback(client.deleted, hooks)
        yield f"{namespace}/other"


def _endpoint(client: Client, metadata: JSONObject, address: str, port: int) -> None:
    """Make an address the endpoint of a Service: the API server's proxy calls only those of Pods."""
    running = pod(name="other", namespace=metadata["namespace"])
    client.made(running)
    status = {"podIP": address, "podIPs": [{"ip": address}]}
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/other/status"
    assert client.send("PATCH", path, {"status": status}, MERGE).status == 200
    labels = {"kubernetes.io/service-name": metadata["name"]}
    target = {"kind": "Pod", "name": "other", "namespace": metadata["namespace"]}
    client.made({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {**metadata, "labels": labels}, "ports": [{"name": "", "port": port}],
        "endpoints": [{"addresses": [address], "targetRef": target}],
    })  # fmt: skip


def test_a_service_of_the_cluster(
    api: Cluster, captures: Path, against: str, tmp_path: Path
) -> None:
    config = in_cluster.kubeconfig(api, tmp_path)
    command = [sys.executable, "-m", "policyd", "compare", "--captures", str(captures)]
    command += ["-p", str(tmp_path / "policies"), "--kubeconfig", str(config)]
    command += ["--against", against, "--format", "json"]

    def compared(*more: str) -> JSONObject:
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        found: JSONObject = json.loads(done.stdout)
        return found

    base = f"api/v1/namespaces/{against.replace('/', '/services/https:')}:443/proxy/"
    plan = compared()["wouldSend"]
    assert {each["address"] for each in plan} == {f"{base}{each}" for each in KINDS}
    report = compared("--yes")
    assert [(each["outcome"], each["policy"]) for each in report["results"]] == [
        ("other patch", "owned"), ("other patch", "owned"), ("stricter", "small"),
    ]  # fmt: skip
    assert report["results"][2]["policyd"] == "denies: not so many"
    small = next(each for each in report["rules"] if each["policy"] == "small")
    assert (small["equal"], small["stricter"]) == (1, 1)

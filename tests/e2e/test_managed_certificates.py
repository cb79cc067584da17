"""Managed certificates behind a real API server: rotations, a lost Secret, a killed writer.

No request fails, and at each moment what the replicas serve is covered by the caBundle that is
registered.
"""

import base64
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from policyd.controllers.certificates.material import Material, certificates, read, secret
from policyd.json_types import JSONObject
from policyd.tls.issuing import new_authority, new_leaf
from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy
from tests.e2e import in_cluster
from tests.e2e.balancer import Balancer, balancer
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, free_ports
from tests.e2e.conftest import make_namespace
from tests.e2e.load import Load, load
from tests.e2e.webhook import configuration, write
from tests.sampling import SHARE, share
from tests.server.process import Process, until

NAME = "managed"
PATIENCE = 300.0  # seconds for what takes a minute


class Probe:
    """Connects to every replica again and again as an API server would: with the caBundle that is
    registered at that moment.
    """

    def __init__(self, api: Cluster, replicas: list[Process]) -> None:
        self.replicas = replicas
        self.failures: list[str] = []
        self.leaves: set[bytes] = set()
        self.bundles: list[tuple[bytes, ...]] = []
        self._client = Client(api)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            for each in in_cluster.webhooks(self._client, NAME).values():
                bundle = base64.b64decode(each["clientConfig"]["caBundle"])
                found = certificates(bundle)
                if found not in self.bundles[-1:]:
                    self.bundles.append(found)
                for replica in self.replicas:
                    self._connect(replica, bundle)

    def _connect(self, replica: Process, bundle: bytes) -> None:
        if replica.child.poll() is not None:
            return
        context = ssl.create_default_context(cadata=bundle.decode())
        try:
            with (
                socket.create_connection(("127.0.0.1", replica.port), timeout=5) as raw,
                context.wrap_socket(raw, server_hostname="127.0.0.1") as secured,
            ):
                self.leaves.add(secured.getpeercert(binary_form=True) or b"")
        except ssl.SSLError as error:
            self.failures.append(str(error))
        except OSError:
            return  # it was killed


class Alternating:
    """Sends new connections to each running replica in turn, as a Service does."""

    def __init__(self, service: Balancer, replicas: list[Process]) -> None:
        self._service, self._replicas = service, replicas
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Alternating":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            for each in self._replicas:
                if each.child.poll() is None:
                    self._service.backend = each.port
                self._stop.wait(0.02)


def documents() -> list[JSONObject]:
    same = demand("object.metadata.?labels.stamp.orValue('') == 'v1'", "no stamp")
    return [
        policy("stamp", CONFIG_MAPS, mutations=[labelling("stamp", "'v1'")]),
        policy("stamped", CONFIG_MAPS, validations=[same]),
    ]


@pytest.fixture
def own(client: Client, namespace: str) -> Iterator[str]:
    """The namespace of policyd, whose registration ends with the test."""
    yield namespace
    in_cluster.remove_configurations(client, NAME)


@contextmanager
def running(api: Cluster, own: str, folder: Path, lifetime: str) -> Iterator[tuple[Probe, Load]]:
    """Two replicas behind a Service, registered, under load and probed."""
    sources, config = write(folder / "policies", documents()), in_cluster.kubeconfig(api, folder)
    client = Client(api)
    with ExitStack() as stack:
        stack.callback(client.close)
        service = stack.enter_context(balancer(0))
        flags = {
            "register": "",
            "manage_certificates": "",
            "certificate_lifetime": lifetime,
            "webhook_name": NAME,
            "webhook_url": f"https://127.0.0.1:{service.port}",
        }
        replicas = []
        for number in range(2):
            log = folder / f"{number}.log"
            made = in_cluster.replica(config, sources, log, own, **flags)
            replicas.append(stack.enter_context(made))
            service.backend = replicas[0].port
        until(lambda: len(in_cluster.webhooks(client, NAME)) == 2, "both webhooks")
        stack.enter_context(Alternating(service, replicas))
        probe = stack.enter_context(Probe(api, replicas))
        make_namespace(client, f"{own[:50]}-load")
        yield probe, stack.enter_context(load(api, f"{own[:50]}-load"))


def settled(probe: Probe, made: Load) -> None:
    made.stop()
    assert probe.failures == []
    assert made.failures == []


def wait(condition: Callable[[], bool], what: str) -> None:
    """Poll for up to some minutes: certificates live in real time."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def stored(client: Client, own: str) -> Material:
    data = in_cluster.secret(client, own)
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return read({"data": encoded})


def test_rotations_of_certificates_fail_no_request(
    api: Cluster, client: Client, own: str, tmp_path: Path
) -> None:
    """A certificate of 30 s is replaced after 20 s: the rest is for a machine that is busy."""
    with running(api, own, tmp_path, "30s") as (probe, made):
        first = stored(client, own).leaf
        wait(lambda: stored(client, own).leaf != first, "another certificate")
        until(made.more(50), "requests with it")
        settled(probe, made)
        assert len(probe.leaves) > 1


@pytest.mark.skipif(share() < 1, reason=f"takes minutes: set {SHARE}=1")
def test_rotations_of_certificate_and_ca_fail_no_request(
    api: Cluster, client: Client, own: str, tmp_path: Path
) -> None:
    """Certificates of 14 s, a CA of 140 s."""

    def rotated(first: Material) -> bool:
        now = stored(client, own)
        return first.bundle[0] not in now.bundle and len(now.bundle) == 1

    with running(api, own, tmp_path, "14s") as (probe, made):
        first = stored(client, own)
        wait(partial(rotated, first), "another CA alone")
        until(made.more(50), "requests with the new CA")
        settled(probe, made)
        assert len(probe.leaves) > 6
        assert sorted(len(each) for each in probe.bundles) == [1, 1, 2]
        for each in probe.replicas:
            assert each.metric("policyd_policies_unreached") == 0
            lines = each.lines("certificate")
            assert [line for line in lines if line["level"] == "error"] == []


def test_a_lost_and_a_damaged_secret_fail_no_request(
    api: Cluster, client: Client, own: str, tmp_path: Path
) -> None:
    path = f"/api/v1/namespaces/{own}/secrets/policyd-tls"
    with running(api, own, tmp_path, "1h") as (probe, made):
        first = stored(client, own)
        assert client.send("DELETE", path).status == 200
        until(lambda: stored(client, own) == first, "the same certificates again")
        until(made.more(50), "requests")
        garbage = {"data": {"tls.crt": base64.b64encode(b"damaged").decode()}}
        answer = client.send("PATCH", path, garbage, "application/merge-patch+json")
        assert answer.status == 200
        until(lambda: stored(client, own) == first, "the same certificates again")
        until(made.more(50), "requests")
        settled(probe, made)
        assert len(probe.leaves) == 1
        writer = in_cluster.leader(*probe.replicas)
        problems = [row["message"] for row in writer.lines("certificate")]
        assert any("was deleted; the previous certificate is served" in row for row in problems)
        assert any(
            "cannot be used, so the previous certificate is served" in row for row in problems
        )
        errors = 'policyd_certificate_rotations_total{result="error"}'
        assert writer.metric(errors) == 1
        for each in probe.replicas:  # the other may meet the Secret after its repair only
            assert each.metric(errors) in (0, 1)
        assert writer.metric('policyd_certificate_rotations_total{result="success"}') == 3


def test_a_writer_that_is_killed_in_a_rotation_fails_no_request(
    api: Cluster, client: Client, own: str, tmp_path: Path
) -> None:
    """The CA that is found is due for replacement in some seconds; whoever begins is killed."""
    now = time.time()
    authority = new_authority(now - 392, 600)
    leaf = new_leaf(authority, ["127.0.0.1"], now, 60)
    given = Material(leaf, authority, (authority.certificate,))
    client.made(secret(given, own, "policyd-tls", None))

    def begun() -> bool:
        return len(stored(client, own).bundle) == 2

    def done() -> bool:
        found = stored(client, own)
        return len(found.bundle) == 2 and found.leaf != leaf and read_by(found)

    def read_by(found: Material) -> bool:
        return len(probe.leaves) == 2 and found.whole

    with running(api, own, tmp_path, "60s") as (probe, made):
        writer = in_cluster.leader(*probe.replicas)
        wait(partial(begun), "another CA in the bundle")
        writer.kill()
        kept = [each for each in probe.replicas if each is not writer]
        wait(partial(done), "a certificate of the other CA")
        until(made.more(50), "requests")
        made.stop()
        assert probe.failures == []
        # A request under way dies with its process; all others are answered.
        assert len(made.failures) <= len(made.answers) // 100
        assert kept[0].metric("policyd_leader") == 1


def test_without_register_only_the_bundle_is_written(
    api: Cluster, client: Client, own: str, tmp_path: Path
) -> None:
    """Somebody else wrote the configuration, and policyd trusts nobody to renew its bundle."""
    sources, config = (
        write(tmp_path / "policies", documents()),
        in_cluster.kubeconfig(api, tmp_path),
    )
    [port] = free_ports(1)
    given = configuration("validate", api, port, "elsewhere")
    given["metadata"]["name"] = NAME
    other = {**given["webhooks"][0], "name": "other.example.com"}
    given["webhooks"].append(
        {**other, "clientConfig": {**other["clientConfig"], "url": "https://127.0.0.1:1/x"}}
    )
    before = client.made(given)["webhooks"]
    flags = {
        "manage_certificates": "",
        "webhook_name": NAME,
        "webhook_url": f"https://127.0.0.1:{port}",
        "bind": f"127.0.0.1:{port}",
        "certificate_lifetime": "20s",
    }
    with in_cluster.replica(config, sources, tmp_path / "log", own, **flags) as server:
        bundle = base64.b64encode(stored(client, own).bundle_pem).decode()
        after = in_cluster.webhooks(client, NAME)
        assert after["other.example.com"] == before[1]
        hook = after["validate.policyd.dev"]
        assert hook["clientConfig"].pop("caBundle") != before[0]["clientConfig"].pop("caBundle")
        assert hook == before[0]
        found = in_cluster.webhooks(client, NAME)["validate.policyd.dev"]
        assert found["clientConfig"]["caBundle"] == bundle
        # The authority that was published before stays: others may still serve its certificates.
        authority = certificates((api.folder / "ca.crt").read_bytes())
        assert stored(client, own).bundle[1:] == authority
        assert server.metric('policyd_registrations_total{result="success"}') >= 1  # the bundle

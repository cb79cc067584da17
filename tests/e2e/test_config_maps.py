"""Policies from the ConfigMaps of a real API server, edited with kubectl, and enforced by two
replicas.
"""

import base64
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.config_maps import BROKEN, LABELS, forbidding
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION, demand, policy, rule
from tests.e2e import cluster as programs
from tests.e2e import in_cluster
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import Kubectl, kubeconfig_document
from tests.e2e.rights import bound, role
from tests.e2e.webhook import serving, write
from tests.server.config_maps import SELECTOR, message, shown
from tests.server.process import Process, until

Start = Callable[..., Process]
Gated = Callable[[Process], None]
LIMIT = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: one}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: "!has(object.data.bad)"
    message: "one: no bad"
"""


def team(namespace: str, name: str, **keys: JSONObject | str) -> JSONObject:
    """A ConfigMap of policies, as a team applies it."""
    made = config_map(name, namespace)
    made["metadata"]["labels"] = LABELS
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in keys.items()}
    return {**made, "data": {f"{key}.yaml": text for key, text in texts.items()}}


@pytest.fixture
def start(
    api: Cluster, client: Client, kubeconfig: Path, namespace: str, tmp_path: Path
) -> Iterator[Start]:
    """Start replicas that read the ConfigMaps of the test's namespace, with the rights for that."""
    reading = {"apiGroups": [""], "resources": ["configmaps"]}
    reader = role("policies", {**reading, "verbs": ["get", "list", "watch"]}, namespace=namespace)
    keeper = role("kept", {**reading, "verbs": ["create", "patch"]}, namespace=namespace)
    for each in (reader, keeper):
        client.made(each)
        client.made(bound(each, "User", "policyd"))
    with ExitStack() as stack:

        def begin(log: str = "policyd.log", **settings: str) -> Process:
            given = {
                "kubeconfig": str(kubeconfig),
                "namespace": namespace,
                "policy_configmaps": SELECTOR,
                "drain": "0s",
                **settings,
            }
            return stack.enter_context(serving(api, [], tmp_path / log, **given))

        yield begin


def gate(api: Cluster, server: Process, namespace: str) -> JSONObject:
    """The webhook configuration for edits."""
    authority = base64.b64encode((api.folder / "ca.crt").read_bytes()).decode()
    url = f"https://127.0.0.1:{server.port}/policies/validate"
    operations = ["CREATE", "UPDATE", "DELETE"]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    webhook = {
        "name": "policies.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"url": url, "caBundle": authority},
        "rules": [{**rule, "operations": operations}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": LABELS},
    }
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [webhook],
    }


@pytest.fixture
def gated(api: Cluster, client: Client, namespace: str) -> Iterator[Gated]:
    """Register the webhook for edits; it is gone in the end."""
    made: list[JSONObject] = []

    def register(server: Process) -> None:
        made.append(gate(api, server, namespace))
        client.made(made[0])
        probe = team(namespace, "probe", p="kind: [")
        until(lambda: client.create(probe, dryRun="All").status != 201, "the webhook")

    yield register
    for each in made:
        client.deleted(each)


def says(server: Process, key: str, wanted: str) -> bool:
    """Whether a ConfigMap with this key is denied for this reason; empty: it is not denied."""
    said = message(server, **{key: "x"})
    return said.endswith(wanted) if wanted else not said


def test_an_edit_is_enforced_by_two_replicas_within_two_seconds(
    client: Client, namespace: str, start: Start
) -> None:
    edited = client.made(team(namespace, "a", p=LIMIT))
    client.made(team(namespace, "b", p=forbidding("two", "worse")))
    servers = [start("first.log"), start("second.log")]
    took = []
    for number in range(10):
        key = f"key{number}"
        edited["data"]["p.yaml"] = LIMIT.replace("bad", key)
        answer = client.replace(edited)
        assert answer.status == 200
        edited, began = answer.body, time.monotonic()
        for server in servers:
            until(partial(says, server, key, f"one: no {key}"), "the edit")
        took.append(time.monotonic() - began)
    print(f"\nfrom edit to enforcement by both: {min(took):.3f} to {max(took):.3f} s")
    first, second = map(shown, servers)
    assert first["generation"] == second["generation"]
    assert first["configMaps"] == second["configMaps"]
    assert first["configMaps"][0]["resourceVersion"] == edited["metadata"]["resourceVersion"]


def refused_operations(server: Process, user: str) -> list[str]:
    return [each["operation"] for each in server.lines("policy-edit") if each.get("user") == user]


def test_kubectl_prints_the_errors_of_a_broken_edit(
    client: Client, namespace: str, kubectl: Kubectl, start: Start, gated: Gated
) -> None:
    client.made(team(namespace, "a", p=LIMIT))
    server = start()
    gated(server)
    broken = team(namespace, "a", p=LIMIT.replace("has(object", "has(objct"))
    status, _, printed = kubectl.printed(
        "apply", "--server-side", "--force-conflicts", "-f", "-", sent=broken
    )
    print("\n" + printed)
    assert status == 1
    assert "the policies would have 1 error with this edit of ConfigMap a:\n\n" in printed
    assert "configmap/a/p.yaml:9:" in printed and "\n | !has(objct.data.bad)" in printed
    assert "\n | .....^" in printed
    assert says(server, "bad", "one: no bad")
    good = team(namespace, "a", p=LIMIT.replace("bad", "worst"))
    status, printed, error = kubectl.printed(
        "apply", "--server-side", "--force-conflicts", "-f", "-", sent=good
    )
    assert status == 0, error
    until(partial(says, server, "worst", "one: no worst"), "the good edit")
    status, _, printed = kubectl.printed("delete", "configmap", "a", "--namespace", namespace)
    assert status == 1 and "the sources no longer hold policies" in printed
    until(lambda: "DELETE" in refused_operations(server, "admin"), "the line in the log")


def test_the_second_policy_of_one_name_is_refused_at_once(
    client: Client, namespace: str, start: Start, gated: Gated
) -> None:
    """Also by a replica that has not loaded the first one yet."""
    client.made(team(namespace, "a", p=LIMIT))
    gated(start())
    for number in range(5):
        first, second = (
            team(namespace, f"{name}{number}", p=forbidding(f"p{number}", "worse"))
            for name in ("first", "second")
        )
        assert client.create(first).status == 201
        answer = client.create(second)
        assert answer.status == 403
        assert f"Policy p{number} is defined twice: first in another source" in answer.message
    elsewhere = team("default", "elsewhere", p="kind: [")
    assert client.create(elsewhere, dryRun="All").status == 201


def test_an_edit_adds_only_reads_that_its_author_may_list(
    api: Cluster, client: Client, namespace: str, start: Start, gated: Gated
) -> None:
    client.made(team(namespace, "a", p=LIMIT))
    gated(start())
    read = {"name": "i", "apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    checks = [demand("size(reads.i) < 9", "many")]
    edited = team(
        namespace, "r", p=policy("r", rule("configmaps"), reads=[read], validations=checks)
    )
    config_maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    ingresses = {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["list"]}
    writer, lister = role("eve-writes", config_maps, namespace=namespace), role("eve", ingresses)
    with closing(Client(api, [("Impersonate-User", "eve")])) as eve:
        client.made(writer)
        client.made(bound(writer, "User", "eve"))
        plain = config_map("plain", namespace)
        until(lambda: eve.create(plain, dryRun="All").status == 201, "the permission to write")
        why = eve.create(edited, dryRun="All").message
        assert 'user eve must have "list" permission on ingresses.networking.k8s.io in' in why
        try:
            for each in (lister, bound(lister, "User", "eve")):
                client.made(each)
            until(lambda: eve.create(edited, dryRun="All").status == 201, "the permission to list")
        finally:
            for each in (lister, bound(lister, "User", "eve")):
                client.deleted(each)


def test_a_broken_edit_past_the_gate_keeps_out_nobody_else(
    client: Client, namespace: str, start: Start
) -> None:
    a = client.made(team(namespace, "a", p=LIMIT))
    b = client.made(team(namespace, "b", p=forbidding("two", "worse")))
    servers = [start("first.log"), start("second.log")]
    b["data"]["p.yaml"] = json.dumps(BROKEN)
    assert client.replace(b).status == 200
    a["data"]["p.yaml"] = LIMIT.replace("bad", "other")
    assert client.replace(a).status == 200
    for server in servers:
        until(partial(says, server, "other", "one: no other"), "the edit of the other team")
        assert says(server, "worse", "two: no worse")
        held = [each for each in shown(server)["configMaps"] if "heldVersion" in each]
        assert [each["name"] for each in held] == ["configmap/b"]
    assert len({shown(server)["generation"] for server in servers}) == 1
    assert client.delete(b).status == 200
    for server in servers:
        until(partial(says, server, "worse", ""), "the deletion")


def test_a_replica_that_starts_with_a_broken_config_map_differs_unless_the_last_good_is_kept(
    client: Client, namespace: str, start: Start
) -> None:
    client.made(team(namespace, "a", p=LIMIT))
    b = client.made(team(namespace, "b", p=forbidding("two", "worse")))
    kept = {"last_good": "configmap/kept"}
    running = start("running.log", **kept)
    stored = config_map("kept", namespace)
    until(lambda: client.get(stored).status == 200, "the kept policies")
    b["data"]["p.yaml"] = json.dumps(BROKEN)
    client.replace(b)
    until(lambda: not shown(running)["lastReload"]["succeeded"], "the refusal")
    skewed, same = start("skewed.log"), start("same.log", **kept)
    assert shown(skewed)["generation"] != shown(running)["generation"]
    assert shown(same)["generation"] == shown(running)["generation"]
    assert "failed to configure policy" in message(skewed, worse="x")
    assert says(same, "worse", "two: no worse")
    for server in (skewed, same):
        print(server.metric("policyd_serving_last_good"), shown(server)["configMaps"])


def test_config_maps_of_a_mebibyte(client: Client, namespace: str, start: Start) -> None:
    noise = random.Random(5).randbytes(300_000).hex()
    texts = {}
    for name in ("a", "b"):
        policy = json.dumps(forbidding(f"plain-{name}", f"plain{name}"))
        texts[name] = f"# {noise}\n{policy}\n".ljust(2**20 - 4096)
    for name, text in texts.items():
        client.made(team(namespace, name, p=text))
    packed = team(namespace, "c")
    many = "\n---\n".join(json.dumps(forbidding(f"packed-{n}", f"packed{n}")) for n in range(100))
    data = base64.b64encode(gzip.compress(many.encode())).decode()
    client.made({**packed, "binaryData": {"many.yaml.gz": data}})
    began = time.monotonic()
    server = start()
    print(f"\nready after {time.monotonic() - began:.2f} s, {server.resident() >> 20} MiB")
    assert len(shown(server)["policies"]) == 102
    assert says(server, "plainb", "plain-b: no plainb")
    assert says(server, "packed99", "packed-99: no packed99")
    edited = client.get(team(namespace, "b")).body
    edited["data"]["p.yaml"] = texts["b"].replace("plainb", "plainz")
    began = time.monotonic()
    assert client.replace(edited).status == 200
    until(partial(says, server, "plainz", "plain-b: no plainz"), "the edit")
    print(f"an edit of 1 MiB is enforced after {time.monotonic() - began:.2f} s")


@pytest.mark.usefixtures("api")
def test_an_api_server_that_goes_and_comes_back(tmp_path: Path) -> None:
    """One of its own: etcd stays, the API server ends and begins again."""
    folder = tmp_path / "apiserver"
    folder.mkdir()
    found, version = programs.binaries()
    programs.certificates(folder)
    store_port, peer, port = programs.free_ports(3)
    etcd = f"http://127.0.0.1:{store_port}"
    command = [str(found / "kube-apiserver"), *programs.apiserver_flags(folder, etcd, port)]
    running = Cluster(f"https://127.0.0.1:{port}", folder, version, found, etcd)
    document = kubeconfig_document(
        running, *(str(folder / name) for name in ("ca.crt", "admin.crt", "admin.key"))
    )
    (tmp_path / "kubeconfig").write_text(json.dumps(document))
    given = {
        "kubeconfig": str(tmp_path / "kubeconfig"),
        "namespace": "default",
        "policy_configmaps": SELECTOR,
        "drain": "0s",
    }
    with ExitStack() as stack:
        flags = programs.etcd_flags(folder, etcd, peer)
        stack.enter_context(programs.process([str(found / "etcd"), *flags], folder / "etcd.log"))
        log = folder / "kube-apiserver.log"
        with programs.process(command, log) as first:
            programs.wait_until_ready(running, first)
            client = Client(running)
            client.made(team("default", "a", p=LIMIT))
            client.close()
            server = stack.enter_context(serving(running, [], tmp_path / "one.log", **given))
            assert says(server, "bad", "one: no bad")
        until(lambda: server.metric('policyd_watch_healthy{watch="configmaps"}') == 0, "the fault")
        assert says(server, "bad", "one: no bad") and server.get("/readyz")[0] == 200
        with programs.process(command, log) as second:
            programs.wait_until_ready(running, second)
            client = Client(running)
            edited = client.get(team("default", "a")).body
            edited["data"]["p.yaml"] = LIMIT.replace("bad", "worse")
            began = time.monotonic()
            assert client.replace(edited).status == 200
            client.close()
            until(partial(says, server, "worse", "one: no worse"), "the edit")
            print(f"\nenforced {time.monotonic() - began:.2f} s after the API server's return")


def test_registered_webhooks_follow_config_maps_and_refuse_broken_edits(
    api: Cluster, client: Client, namespace: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Two replicas with one Lease: what one command installs."""
    [port] = programs.free_ports(1)
    name = "live"
    in_cluster.remove_configurations(client, name)
    sources = write(tmp_path / "policies", [forbidding("filed", "filed")])
    client.made(team(namespace, "a", p=LIMIT))
    given = {
        "register": "",
        "self_signed": "",
        "policy_configmaps": SELECTOR,
        "last_good": "configmap/kept",
        "webhook_url": f"https://127.0.0.1:{port}",
        "webhook_name": name,
    }
    file = in_cluster.kubeconfig(api, tmp_path)
    with ExitStack() as stack:
        stack.callback(in_cluster.remove_configurations, client, name)
        servers = [
            stack.enter_context(
                in_cluster.replica(
                    file, sources, tmp_path / f"{number}.log", namespace, bind=bind, **given
                )
            )
            for number, bind in enumerate((f"127.0.0.1:{port}", "127.0.0.1:0"))
        ]
        until(lambda: "policies.policyd.dev" in in_cluster.webhooks(client, name), "the gate")
        gate = in_cluster.webhooks(client, name)["policies.policyd.dev"]
        assert gate["rules"][0]["operations"] == ["CREATE", "UPDATE", "DELETE"]
        own = {"kubernetes.io/metadata.name": namespace}
        assert gate["namespaceSelector"] == {"matchLabels": own}
        other = LIMIT.replace("name: one", "name: two")
        broken = team(namespace, "b", p=other.replace("has(object", "has(objct"))
        until(lambda: client.create(broken, dryRun="All").status != 201, "a refusal")
        status, _, printed = kubectl.printed("create", "-f", "-", sent=broken)
        assert status == 1 and "configmap/b/p.yaml:9:23: spec.validations[0]" in printed
        secrets = policy(
            "secrets", rule("secrets"), validations=[demand("object.metadata.name != 'x'", "no x")]
        )
        client.made(team(namespace, "b", p=secrets))
        secret = {**config_map("x", "default"), "kind": "Secret", "data": {}}
        began = time.monotonic()
        until(lambda: client.create(secret, dryRun="All").status != 201, "the new rule")
        print(f"\na policy for another kind is enforced after {time.monotonic() - began:.2f} s")
        assert sum(server.metric("policyd_leader") for server in servers) == 1
        generations = {shown(server)["generation"] for server in servers}
        assert len(generations) == 1
        until(lambda: '"name": "b"' in kept(client, namespace), "the kept policies")


def kept(client: Client, namespace: str) -> str:
    """What the replica with the Lease keeps."""
    answer = client.get(config_map("kept", namespace))
    data = answer.body.get("binaryData", {}).get("policies.gz", "") if answer.status == 200 else ""
    return gzip.decompress(base64.b64decode(data)).decode() if data else ""

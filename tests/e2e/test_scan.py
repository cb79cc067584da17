"""``policyd apply --cluster`` on a real API server, as a user with the documented rights only."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cluster import listing
from policyd.json_types import JSONObject
from tests import shared
from tests.builders.objects import PRIVILEGED, container, deployment, pod, widget_definition
from tests.builders.policies import NOT_PRIVILEGED, PODS, apply_configuration, demand, policy, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificate
from tests.e2e.conftest import make_namespace
from tests.e2e.definitions import Define
from tests.e2e.rights import bound, role
from tests.server.process import until

SCANNER = "scanner"
GUIDE = shared.ROOT / "docs" / "test" / "scan.md"


def documented_role() -> JSONObject:
    """The ClusterRole that the guide shows."""
    blocks = re.findall("```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    [text] = [each for each in blocks if "policyd-scan" in each]
    found: JSONObject = yaml.safe_load(text)
    return found


@pytest.fixture
def kubeconfig(api: Cluster, client: Client, tmp_path: Path) -> Iterator[Path]:
    """Of a user who has that role."""
    for name in ("ca.crt", "ca.key"):
        (tmp_path / name).write_bytes((api.folder / name).read_bytes())
    certificate(tmp_path, SCANNER, f"/CN={SCANNER}")
    given = documented_role()
    made = [given, bound(given, "User", SCANNER)]
    for each in made:
        client.made(each)
    server = {"server": api.server, "certificate-authority": "ca.crt"}
    user = {"client-certificate": f"{SCANNER}.crt", "client-key": f"{SCANNER}.key"}
    context = {"cluster": "a", "user": "a"}
    document = {
        "clusters": [{"name": "a", "cluster": server}],
        "users": [{"name": "a", "user": user}],
        "contexts": [{"name": "a", "context": context}],
        "current-context": "a",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(document))
    yield file
    for each in made:
        client.deleted(each)


def asked(api: Cluster) -> Counter[tuple[str, str]]:
    """What the scanner asked for, by the audit log: verb and resource."""
    lines = (api.folder / "audit.log").read_text().splitlines()
    events = [json.loads(line) for line in lines if line.endswith("}")]
    return Counter(
        (each["verb"], each.get("objectRef", {}).get("resource", each["requestURI"]))
        for each in events
        if each["user"]["username"] == SCANNER
    )


def scan(
    kubeconfig: Path, documents: list[JSONObject], *flags: str
) -> tuple[int, list[JSONObject], str]:
    """Exit status, what is told as JSON, and the warnings."""
    file = kubeconfig.parent / "policies.yaml"
    file.write_text("\n---\n".join(map(json.dumps, documents)))
    arguments = ["apply", "-p", str(file), "--cluster", "--kubeconfig", str(kubeconfig), *flags]
    done = CliRunner().invoke(policyd, [*arguments, "--format", "json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, json.loads(done.stdout), done.stderr


def test_a_cluster_is_read_and_not_written(
    api: Cluster, client: Client, namespace: str, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    for number in range(3):
        client.made(pod(name=f"well-{number}", namespace=namespace))
    client.made(pod(container(**PRIVILEGED), name="bad", namespace=namespace))
    top = client.made(deployment(container(**PRIVILEGED), namespace=namespace))
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "controller": True}
    owner |= {"name": "web", "uid": top["metadata"]["uid"]}
    middle = deployment(container(**PRIVILEGED), name="web-1", namespace=namespace)
    middle |= {"kind": "ReplicaSet"}
    middle["metadata"]["ownerReferences"] = [owner]
    client.made(middle)
    denies = policy("privileged", PODS, validations=[NOT_PRIVILEGED], podControllers=True)
    labels = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    denies["spec"]["matchConstraints"]["namespaceSelector"] = labels
    may = "authorizer.group('').resource('pods').namespace('x').check('delete').allowed()"
    asks = policy("asks", rule("namespaces"), validations=[demand(f"!{may}", "may delete")])
    mutation = apply_configuration("Object{spec: Object.spec{hostname: 'changed'}}")
    changes = policy("changes", PODS, mutations=[mutation])

    flags = ("-n", namespace, "--user", "admin", "--group", "system:masters", "--diff")
    status, told, warnings = scan(kubeconfig, [denies, asks, changes], *flags)
    assert (status, warnings) == (1, "")
    assert {(each["kind"], each["name"]) for each in told if not each["allowed"]} == {
        ("Pod", "bad"), ("Deployment", "web"), ("Namespace", namespace),
    }  # fmt: skip
    assert sum(bool(each["patch"]) for each in told) == 4
    assert client.get(pod(name="bad", namespace=namespace)).body["spec"].get("hostname") is None

    status, told, _ = scan(kubeconfig, [denies], "--owned")
    assert {(each["kind"], each["name"]) for each in told} == {
        ("Pod", "bad"), ("Deployment", "web"), ("ReplicaSet", "web-1"),
    }  # fmt: skip
    until(lambda: bool(asked(api)), "the audit log")
    verbs = {(verb, what) for verb, what in asked(api) if verb not in ("get", "list")}
    assert verbs == {("create", "subjectaccessreviews")}
    assert asked(api)["list", "pods"] >= 4  # in pages


def test_custom_resources_and_what_may_not_be_read(
    client: Client, namespace: str, kubeconfig: Path, define: Define
) -> None:
    define(widget_definition())
    widget = {
        "apiVersion": "e2e.policyd.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "red", "namespace": namespace},
        "spec": {"colour": "red"},
    }
    client.made(widget)
    widgets = rule("*", group="e2e.policyd.dev", version="*")
    colours = policy("colours", widgets, validations=[demand("object.spec.colour != 'red'", "red")])
    status, told, warnings = scan(kubeconfig, [colours])
    assert (status, told) == (3, [])
    assert "warning: cannot list widgets.e2e.policyd.dev: the API server answered 403" in warnings

    reader = role("widgets", {**documented_role()["rules"][0], "apiGroups": ["e2e.policyd.dev"],
                              "resources": ["widgets"]})  # fmt: skip
    for each in (reader, bound(reader, "User", SCANNER)):
        client.made(each)
    status, told, _ = scan(kubeconfig, [colours])
    assert (status, [each["name"] for each in told]) == (1, ["red"])


def test_everything_there_is_can_be_judged(api: Cluster, client: Client, tmp_path: Path) -> None:
    """As an administrator, with wildcards: no list fails, and every object has a name and type."""
    make_namespace(client, "everything")
    server = {"server": api.server, "certificate-authority": str(api.folder / "ca.crt")}
    user = {
        "client-certificate": str(api.folder / "admin.crt"),
        "client-key": str(api.folder / "admin.key"),
    }
    file = tmp_path / "kubeconfig"
    document = {
        "clusters": [{"name": "a", "cluster": server}],
        "users": [{"name": "a", "user": user}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    file.write_text(json.dumps(document))
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    sound = "object.kind != '' && object.apiVersion != '' && object.metadata.name == request.name"
    status, told, warnings = scan(
        file, [policy("all", every, validations=[demand(sound, "?")])], "-v"
    )
    assert (status, warnings) == (0, "")
    kinds = {each["kind"] for each in told}
    assert {"Namespace", "ClusterRole", "APIService", "FlowSchema", "Lease"} <= kinds
    assert "ValidatingAdmissionPolicy" not in kinds

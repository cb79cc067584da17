"""What ``policyd export`` writes, applied with kubectl to a real API server (a server-side dry run)."""

import json
import re
from pathlib import Path

import yaml
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load
from tests.builders.objects import config_map
from tests.builders.policies import demand, policy, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import Kubectl
from tests.server.process import until
from tests.shared import ROOT

APPLIED = re.compile(r"(\w+)\.admissionregistration\.k8s\.io/(\S+) created \(server dry run\)")
DRY = ("apply", "--dry-run=server", "--validate=strict")


def export(api: Cluster, *arguments: str) -> str:
    options = ["-p", str(ROOT / "policies"), "--kubernetes-version", api.version, *arguments]
    done = CliRunner().invoke(policyd, ["export", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def exported(*paths: Path) -> set[tuple[str, str]]:
    return {(each.kind.lower(), each.name) for each in load(paths).documents}


def test_the_library_is_applied_from_files(api: Cluster, kubectl: Kubectl, tmp_path: Path) -> None:
    folder = tmp_path / "in-tree"
    export(api, "-o", str(folder))
    status, output, errors = kubectl.printed(*DRY, "-f", str(folder))
    assert (status, errors) == (0, "")
    assert {*APPLIED.findall(output)} == exported(folder)
    assert len(exported(folder)) >= 6


def test_the_library_is_applied_from_a_stream(
    api: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    for form in ("text", "yaml"):
        file = tmp_path / f"{form}.yaml"
        file.write_text(export(api, "--format", form))
        status, output, errors = kubectl.printed(*DRY, "--server-side", "-f", str(file))
        assert (status, errors) == (0, "")
        applied = output.replace("serverside-applied", "created")
        assert {*APPLIED.findall(applied)} == exported(file)


def labelled(thing: JSONObject) -> JSONObject:
    return {**thing, "metadata": {**thing["metadata"], "labels": {"refused": "yes"}}}


def test_bindings_enforce_where_webhooks_are_called(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """Not in kube-system, in policyd's namespace (of the test), or for a Namespace of one; but for
    cluster-scoped objects.
    """
    roles = rule("clusterroles", group="rbac.authorization.k8s.io")
    matched = {"objectSelector": {"matchLabels": {"refused": "yes"}}}
    source = policy(
        "exported-namespaces",
        rule("configmaps", "namespaces"),
        roles,
        match=matched,
        validations=[demand("false", "no")],
    )
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(source))
    options = ["-p", str(file), "--kubernetes-version", api.version, "-n", namespace]
    done = CliRunner().invoke(policyd, ["export", *options])
    assert done.exit_code == 0, done.output
    documents = [*yaml.safe_load_all(done.stdout)]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}

    def status(thing: JSONObject) -> int:
        return client.create(labelled(thing), dryRun="All").status

    try:
        for document in documents:
            client.made(document)
        until(lambda: status(config_map("a", "default")) == 422, "the policy")
        assert status({**role, "metadata": {"name": "a"}}) == 422
        assert status({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}) == 422
        for name in ("kube-system", namespace):
            assert status(config_map("a", name)) == 201
            own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            changed = client.patch(own, {"metadata": labelled(own)["metadata"]}, dryRun="All")
            assert changed.status == 200
    finally:
        for document in reversed(documents):
            client.deleted(document)

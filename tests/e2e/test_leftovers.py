"""``policyd lint --cluster`` on a real API server: what blocks it, and the command that ends that."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS
from tests.builders.webhook_configurations import KINDS, configuration, hook
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.definitions import served
from tests.e2e.engines import created, definitions
from tests.e2e.kubectl import Kubectl, kubeconfig_document
from tests.server.process import until

POLICY: JSONObject = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "left-over"},
    "spec": {"validationFailureAction": "Enforce", "rules": []},
}


@pytest.fixture
def admin(api: Cluster, tmp_path: Path) -> Path:
    files = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    file = tmp_path / "admin.kubeconfig"
    file.write_text(json.dumps(kubeconfig_document(api, *files)))
    return file


def findings(admin: Path) -> list[JSONObject]:
    given = ["lint", "--cluster", "--kubeconfig", str(admin), "--format", "json"]
    done = CliRunner().invoke(policyd, given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    found: list[JSONObject] = json.loads(done.stdout)
    return found


@pytest.fixture
def blocked(client: Client, namespace: str) -> Iterator[JSONObject]:
    """A configuration whose first webhook denies ConfigMaps of a namespace: its Service is gone."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    service = {"namespace": "gone", "name": "gone", "path": "/"}
    common = {"rules": [CONFIG_MAPS], "namespaceSelector": selector}
    dead = hook(name="dead.example.com", clientConfig={"service": service}, **common)
    alive = hook(
        name="alive.example.com",
        clientConfig={"url": "https://127.0.0.1:1/"},
        failurePolicy="Ignore",
        **common,
    )
    made = client.made(configuration(KINDS[0], dead, alive, name="left-over"))
    yield made
    client.deleted(made)


def test_the_command_unblocks_the_cluster(
    client: Client, admin: Path, blocked: JSONObject, namespace: str, kubectl: Kubectl
) -> None:
    thing = config_map("a", namespace)
    until(lambda: client.create(thing, dryRun="All").status != 201, "the webhook")
    (found,) = (each for each in findings(admin) if each["rule"] == "blocking-webhook")
    assert found["message"].startswith("the Service gone/gone does not exist, and failurePolicy")
    command = re.search(r"kubectl (.*)$", found["hint"])
    assert command is not None
    status, _, told = kubectl.printed(*shlex.split(command[1]))
    assert status == 0, told
    until(lambda: client.create(thing, dryRun="All").status == 201, "the end of the webhook")
    left = client.get(blocked).body["webhooks"]
    assert [each["name"] for each in left] == ["alive.example.com"]
    assert [each for each in findings(admin) if each["rule"] == "blocking-webhook"] == []


def test_a_policy_that_nothing_executes_is_removed_by_the_command(
    client: Client, admin: Path, kubectl: Kubectl
) -> None:
    with served(client, *definitions()):
        created(client, POLICY)
        (found,) = findings(admin)
        assert (found["rule"], found["file"]) == (
            "unexecuted-policy",
            "clusterpolicies.kyverno.io/left-over",
        )
        command = re.search("kubectl (.*) removes it", found["hint"])
        assert command is not None
        status, _, told = kubectl.printed(*shlex.split(command[1]))
        assert status == 0, told
        assert findings(admin) == []

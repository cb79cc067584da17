"""Exceptions from ConfigMaps of teams in a real API server, with the rights that the deployment
grants: a team exempts its own namespace, and no other.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION, demand, policy, policy_exception, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.rights import bound, role
from tests.e2e.webhook import serving, write
from tests.server.process import Process, until
from tests.shared import ROOT

SELECTOR = "policyd.dev/exceptions=true"
LABELS = {"policyd.dev/exceptions": "true"}
RULE = rule("configmaps", "namespaces", operations=["CREATE", "UPDATE"])
NO_BAD = demand("!has(object.metadata.labels) || !('bad' in object.metadata.labels)", "no bad")


def exceptions(namespace: str, *documents: JSONObject) -> JSONObject:
    """The ConfigMap of a team."""
    made = config_map("exceptions", namespace)
    made["metadata"]["labels"] = LABELS
    return {**made, "data": {"e.yaml": "\n---\n".join(map(json.dumps, documents))}}


def bad(namespace: str) -> JSONObject:
    made = config_map("bad", namespace)
    made["metadata"]["labels"] = {"bad": "x"}
    return made


def granted() -> list[JSONObject]:
    """The rule that the component adds to the rights of policyd."""
    component = ROOT / "deploy/components/exceptions/kustomization.yaml"
    patches = yaml.safe_load(component.read_text())["patches"]
    server = {"kind": "ClusterRole", "name": "policyd"}
    (steps,) = (each["patch"] for each in patches if each["target"] == server)
    return [step["value"] for step in yaml.safe_load(steps)]


@pytest.fixture
def server(
    api: Cluster, client: Client, kubeconfig: Path, namespace: str, tmp_path: Path
) -> Iterator[Process]:
    """policyd, which the API server calls for three namespaces."""
    reader = role(f"{namespace}-reader", *granted())
    for each in (reader, bound(reader, "User", "policyd")):
        client.made(each)
    for other in ("team", "other"):
        make_namespace(client, f"{namespace}-{other}")
    sources = write(tmp_path / "policies", [policy("no-bad", RULE, validations=[NO_BAD])])
    given = {
        "kubeconfig": str(kubeconfig),
        "exception_configmaps": SELECTOR,
        "exception_namespaces": f"{namespace}-te?m",
        "drain": "0s",
    }
    with ExitStack() as stack:
        made = stack.enter_context(serving(api, [sources], tmp_path / "policyd.log", **given))
        registered = registration(api, made, namespace)
        client.made(registered)
        stack.callback(client.deleted, registered)
        until(lambda: client.create(bad(namespace), dryRun="All").status == 422, "the webhook")
        yield made


def registration(api: Cluster, server: Process, namespace: str) -> JSONObject:
    """The webhook configuration for the namespaces of the test."""
    authority = base64.b64encode((api.folder / "ca.crt").read_bytes()).decode()
    names = [namespace, f"{namespace}-team", f"{namespace}-other"]
    key = "kubernetes.io/metadata.name"
    selected = {"matchExpressions": [{"key": key, "operator": "In", "values": names}]}
    webhook = {
        "name": "exceptions.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.port}/validate",
            "caBundle": authority,
        },
        "rules": [RULE],
        "namespaceSelector": selected,
    }
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [webhook],
    }


def test_a_team_excepts_its_own_namespace_and_no_other(
    client: Client, namespace: str, server: Process
) -> None:
    team, other = f"{namespace}-team", f"{namespace}-other"

    def status(where: str) -> int:
        return client.create(bad(where), dryRun="All").status

    assert [status(each) for each in (team, other, namespace)] == [422, 422, 422]
    made = client.made(exceptions(team, policy_exception("legacy", "*")))
    client.made(exceptions(other, policy_exception("legacy", "*")))
    until(lambda: status(team) == 201, "the exception")
    assert [status(each) for each in (other, namespace)] == [422, 422]
    # Not the Namespace itself, whose requests have its own name as their namespace.
    itself = client.get({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}).body
    itself["metadata"].setdefault("labels", {})["bad"] = "x"
    assert client.replace(itself, dryRun="All").status == 422
    wide = policy_exception("legacy", "*", resources=[{"namespaces": [other, team]}])
    made["data"] = exceptions(team, wide, policy_exception("more", "*"))["data"]
    edited = client.replace(made).body
    (line,) = until(partial(server.lines, "exceptions-held"), "the line of the log")
    assert line["namespace"] == team and len(line["errors"]) == 1
    assert "exempts requests of that namespace only" in line["errors"][0]
    assert [status(each) for each in (team, other)] == [201, 422]  # what was in use stays
    uses = server.metric('policyd_policy_decisions_total{decision="exempt",policy="no-bad"}')
    assert uses >= 2
    assert client.delete(edited).status == 200
    until(lambda: status(team) == 422, "the removal")

"""``serve --events`` against a real API server: what kubectl shows of denied Pods."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import PRIVILEGED, config_map, container, deployment
from tests.builders.policies import CONFIG_MAPS, NOT_PRIVILEGED, PODS, demand, policy, rule
from tests.e2e.builders import controlled
from tests.e2e.client import Client
from tests.e2e.conftest import Install
from tests.e2e.kubectl import Kubectl
from tests.e2e.rights import bound, role
from tests.server.process import Process, until
from tests.shared import ROOT

HASH = "7d9f6c8b5"
GUARD = policy("guard", PODS, validations=[NOT_PRIVILEGED])
NO_BAD = policy(
    "no-bad",
    CONFIG_MAPS,
    rule("nodes", operations=["CREATE"]),
    validations=[demand("object.metadata.name != 'bad'", "a bad name")],
)
COMPONENT = ROOT / "deploy" / "components" / "events" / "kustomization.yaml"


@pytest.fixture
def allowed(client: Client, kubeconfig: Path) -> Iterator[Path]:
    """A kubeconfig of the user ``policyd`` with the rights of the deployment and this component."""
    patches = yaml.safe_load(COMPONENT.read_text())["patches"]
    [added] = yaml.safe_load(patches[-1]["patch"])
    assert added["path"] == "/rules/-"
    made = role("policyd-events", added["value"])
    both = [made, bound(made, "User", "policyd")]
    for each in both:
        client.made(each)
    yield kubeconfig
    for each in both:
        client.deleted(each)


def events(client: Client, namespace: str, **fields: str) -> list[Any]:
    """What a list of Events by these fields has, as ``kubectl describe`` sends it."""
    selector = ",".join(f"{name}={value}" for name, value in fields.items())
    answer = client.send("GET", f"/api/v1/namespaces/{namespace}/events", fieldSelector=selector)
    assert answer.status == 200, answer.message
    found: list[Any] = answer.body["items"]
    return found


def counted(server: Process, result: str) -> float:
    return server.metric(f'policyd_events_total{{result="{result}"}}')


def replica_set(client: Client, namespace: str) -> tuple[JSONObject, JSONObject]:
    """A ReplicaSet, and the Pod that its controller would create again and again."""
    web = client.made(deployment(container(**PRIVILEGED), name="web", namespace=namespace))
    template = web["spec"]["template"]
    made = client.made(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": controlled(web, name=f"web-{HASH}"),
            "spec": {"selector": web["spec"]["selector"], "template": template},
        }
    )
    metadata = {**template["metadata"], **controlled(made, generateName=f"web-{HASH}-")}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    return made, pod


def test_describe_shows_why_a_replica_set_has_no_pods(
    client: Client, allowed: Path, install: Install, namespace: str, kubectl: Kubectl
) -> None:
    server = install(GUARD, kubeconfig=str(allowed), events="")
    owner, pod = replica_set(client, namespace)
    for _ in range(5):
        assert client.create(pod).status == 422
    assert client.create(pod, dryRun="All").status == 422
    about = {
        "involvedObject.name": owner["metadata"]["name"],
        "involvedObject.namespace": namespace,
        "involvedObject.kind": "ReplicaSet",
        "involvedObject.uid": owner["metadata"]["uid"],
    }
    until(lambda: counted(server, "written") >= 1, "an Event")
    assert server.terminate() == 0  # what is left is written now, not in ten seconds
    [event] = events(client, namespace, **about)
    assert event["count"] == 5
    assert event["message"] == (
        f"CREATE of Pod web-{HASH}-* denied by policy guard: {NOT_PRIVILEGED['message']}"
    )
    assert event["metadata"]["managedFields"][0]["manager"] == "policyd"

    status, printed, problem = kubectl.printed(
        "describe", "replicaset", owner["metadata"]["name"], "-n", namespace
    )
    assert status == 0, problem
    line = re.escape(event["message"])
    assert re.search(rf"Warning +PolicyViolation +\S+ \(x5 over \S+\) +policyd +{line}", printed)
    status, printed, problem = kubectl.printed(
        "get", "events", "-n", namespace, "--field-selector", "source=policyd"
    )
    assert status == 0, problem
    assert f"replicaset/web-{HASH}" in printed

    modern = client.send("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events").body
    [seen] = [each for each in modern["items"] if each["metadata"] == event["metadata"]]
    assert (seen["deprecatedCount"], seen["note"]) == (5, event["message"])


def test_events_are_where_the_object_is(
    client: Client, allowed: Path, install: Install, namespace: str
) -> None:
    every: JSONObject = {"namespaceSelector": {}}
    server = install(NO_BAD, kubeconfig=str(allowed), events="", webhook=every)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bad"}}
    assert client.create(config_map("bad", namespace)).status == 422
    assert client.create(node).status == 422
    until(lambda: counted(server, "written") == 2, "both Events")
    [event] = events(client, namespace, **{"involvedObject.kind": "ConfigMap"})
    assert (event["involvedObject"]["name"], event["count"]) == ("bad", 1)
    [event] = events(client, "default", **{"involvedObject.kind": "Node"})
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "bad"}
    assert counted(server, "failed") == 0


def test_an_event_that_was_deleted_is_written_again(
    client: Client, allowed: Path, install: Install, namespace: str
) -> None:
    server = install(NO_BAD, kubeconfig=str(allowed), events="")
    client.create(config_map("bad", namespace))
    [event] = until(lambda: events(client, namespace, source="policyd"), "the Event")
    assert (
        client.send(
            "DELETE", f"/api/v1/namespaces/{namespace}/events/{event['metadata']['name']}"
        ).status
        == 200
    )
    client.create(config_map("bad", namespace))
    assert server.terminate() == 0
    [again] = events(client, namespace, source="policyd")
    assert again["metadata"]["name"] == event["metadata"]["name"]
    assert again["count"] == 2


def test_a_policy_about_events_does_not_make_more_of_them(
    client: Client, allowed: Path, install: Install, namespace: str
) -> None:
    every = policy("none", rule("*", group="*"), validations=[demand("false", "nothing at all")])
    server = install(every, kubeconfig=str(allowed), events="")
    assert client.create(config_map("a", namespace)).status == 422
    until(lambda: counted(server, "failed") == 1, "the refused Event")
    [_] = until(lambda: server.lines("events"), "a line in the log")
    assert [each["resource"] for each in server.lines("denial") if not each.get("dryRun")] == [
        "v1/configmaps",
        "v1/events",
    ]
    assert events(client, namespace, source="policyd") == []


def test_without_the_right_the_log_names_it(
    client: Client, kubeconfig: Path, install: Install, namespace: str
) -> None:
    server = install(NO_BAD, kubeconfig=str(kubeconfig), events="")
    assert client.create(config_map("bad", namespace)).status == 422
    [line] = until(lambda: server.lines("events"), "a line in the log")
    assert (
        'a permission is missing: User "policyd" cannot patch resource "events"' in line["message"]
    )
    assert counted(server, "failed") == 1
    assert server.get("/readyz")[0] == 200

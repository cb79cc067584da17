"""Replicas of ``policyd serve`` that register themselves and manage their certificates. No tests here.

They run outside of the cluster with a kubeconfig, and API servers reach them by a URL.
"""

import base64
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.kubectl import kubeconfig_document
from tests.server.process import Process, until

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LISTS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/policyd"


def kubeconfig(api: Cluster, folder: Path, **user: str) -> Path:
    """A kubeconfig of an administrator, or of the user with these files."""
    files = {each: str(api.folder / f"admin.{each}") for each in ("crt", "key")} | user
    authority = str(api.folder / "ca.crt")
    document = kubeconfig_document(api, authority, files["crt"], files["key"])
    file = folder / "kubeconfig.json"
    file.write_text(json.dumps(document))
    return file


@contextmanager
def replica(
    config: Path, sources: Path, log: Path, namespace: str, **settings: str
) -> Iterator[Process]:
    """One replica, once it listens; ``settings`` are flags, those that are on are empty."""
    flags = {
        "policies": str(sources),
        "bind": "127.0.0.1:0",
        "admin-bind": "127.0.0.1:0",
        "kubeconfig": str(config),
        "namespace": namespace,
        "drain": "0.5s",
        **{name.replace("_", "-"): value for name, value in settings.items()},
    }
    arguments = [f"--{name}={value}" if value else f"--{name}" for name, value in flags.items()]
    process = Process([sys.executable, "-m", "policyd", "serve", *arguments], log)
    try:
        yield process
    finally:
        process.kill()


def configurations(client: Client, name: str) -> list[JSONObject]:
    """Those of one name that exist."""
    answers = [client.send("GET", f"{ADMISSION}/{each}/{name}") for each in LISTS]
    return [each.body for each in answers if each.status == 200]


def webhooks(client: Client, name: str) -> dict[str, JSONObject]:
    """The webhooks of both configurations, by name."""
    found = configurations(client, name)
    return {each["name"]: each for one in found for each in one.get("webhooks", ())}


def secret(client: Client, namespace: str, name: str = "policyd-tls") -> dict[str, bytes]:
    """What a Secret holds; empty if there is none."""
    answer = client.send("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")
    data: dict[str, Any] = answer.body.get("data") or {} if answer.status == 200 else {}
    return {key: base64.b64decode(value) for key, value in data.items()}


def holder(client: Client, namespace: str) -> str:
    """Who holds the Lease."""
    answer = client.send("GET", LEASE.format(namespace))
    return str(answer.body["spec"].get("holderIdentity") or "") if answer.status == 200 else ""


def leader(*replicas: Process) -> Process:
    """The replica that writes, once there is one."""

    def found() -> list[Process]:
        running = [each for each in replicas if each.child.poll() is None]
        return [each for each in running if each.metric("policyd_leader") == 1]

    one: Process = until(found, "a holder of the Lease")[0]
    return one


def remove_configurations(client: Client, name: str) -> None:
    """Delete what a test registered."""
    for each in LISTS:
        client.send("DELETE", f"{ADMISSION}/{each}/{name}")

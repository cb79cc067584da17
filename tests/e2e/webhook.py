"""The real ``policyd serve`` as a webhook of a real API server. No tests here."""

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.server.process import Process, until

KINDS = {"validate": "ValidatingWebhookConfiguration", "mutate": "MutatingWebhookConfiguration"}
PREFIX = 'admission webhook "{}.policyd.dev" denied the request: '
DENIED = PREFIX.format("validate")
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


def write(folder: Path, documents: Iterable[JSONObject]) -> Path:
    """A folder of sources with one file, exchanged at once."""
    folder.mkdir(exist_ok=True)
    new = folder / ".new"
    new.write_text("\n---\n".join(json.dumps(each) for each in documents))
    new.rename(folder / "policies.yaml")
    return folder


@contextmanager
def serving(
    cluster: Cluster, sources: Sequence[Path], log: Path, **settings: str
) -> Iterator[Process]:
    """A policyd of its own process that evaluates as the cluster does, with a certificate that the
    cluster's authority signed.

    ``settings`` are flags of ``policyd serve``; one that is on or off has an empty value.
    """
    given = {
        "bind": "127.0.0.1:0",
        "admin-bind": "127.0.0.1:0",
        "tls-cert": str(cluster.folder / "server.crt"),
        "tls-key": str(cluster.folder / "server.key"),
        "kubernetes-version": cluster.version,
        **{name.replace("_", "-"): value for name, value in settings.items()},
    }
    flags = [f"--policies={each}" for each in sources]
    flags += [f"--{name}={value}" if value else f"--{name}" for name, value in given.items()]
    process = Process([sys.executable, "-m", "policyd", "serve", *flags], log)
    try:
        yield process
    finally:
        process.kill()


def configuration(
    webhook: str, cluster: Cluster, port: int, namespace: str, **more: Any
) -> JSONObject:
    """A webhook configuration for everything that happens in one namespace."""
    authority = (cluster.folder / "ca.crt").read_bytes()
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    entry = {
        "name": f"{webhook}.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/{webhook}",
            "caBundle": base64.b64encode(authority).decode(),
        },
        "rules": [{**every, "operations": list(OPERATIONS)}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        **more,
    }
    metadata = {"name": f"{webhook}-{namespace}"}
    return {
        "apiVersion": ADMISSION,
        "kind": KINDS[webhook],
        "metadata": metadata,
        "webhooks": [entry],
    }


@contextmanager
def registered(
    cluster: Cluster, server: Process, namespace: str, port: int = 0, **more: Any
) -> Iterator[None]:
    """Both webhooks, from when the API server calls them until it no longer does.

    ``port`` is the server's own unless something stands between.
    """
    client = Client(cluster)
    probe = config_map("probe", namespace)
    with ExitStack() as stack:
        stack.callback(client.close)
        for webhook in KINDS:
            made = configuration(webhook, cluster, port or server.port, namespace, **more)
            client.made(made)
            stack.callback(_unregister, client, server, probe, made)
        for webhook in KINDS:
            until(partial(_called, client, server, probe, webhook), f"calls to {webhook}")
        yield


def _called(client: Client, server: Process, probe: JSONObject, webhook: str) -> bool:
    """True if the API server calls the webhook; where nobody listens, the request fails."""
    alive = server.child.poll() is None
    before = counted(server, f'webhook="{webhook}"') if alive else 0
    answer = client.create(probe, dryRun="All")
    if alive:
        return counted(server, f'webhook="{webhook}"') > before
    return f'failed calling webhook "{webhook}.' in answer.body.get("message", "")


def _unregister(client: Client, server: Process, probe: JSONObject, made: JSONObject) -> None:
    """Delete a configuration and wait: the API server goes on calling for a moment, and what the
    next test does to an object without a namespace would fail.
    """
    client.deleted(made)
    [webhook] = (name for name, kind in KINDS.items() if kind == made["kind"])
    until(lambda: not _called(client, server, probe, webhook), f"no calls to {webhook}")


def counted(server: Process, label: str) -> float:
    """The admission requests of a server with a label; every series exists from the start."""
    lines = server.get("/metrics")[1].splitlines()
    chosen = [each for each in lines if "admission_requests_total{" in each and label in each]
    assert chosen, f"no series has {label}"
    return sum(float(each.rpartition(" ")[2]) for each in chosen)

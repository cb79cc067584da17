"""Kyverno and Gatekeeper as processes that serve the webhooks of a real API server. No tests here.

``tests/node/cluster/programs.sh kyverno gatekeeper`` builds them. Both call the API server as an
administrator, and are called by URL.
"""

import base64
import json
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from urllib.request import urlopen

import yaml

from policyd.json_types import JSONObject
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificate, free_ports, process
from tests.e2e.kubectl import kubeconfig_document
from tests.programs import folder, program
from tests.server.process import until

KYVERNO, GATEKEEPER = "kyverno", "gatekeeper-system"
_TLS = "kyverno-svc.kyverno.svc.kyverno-tls"
_DEFINITION = "CustomResourceDefinition"
REGISTERED = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def documents(path: Path) -> list[JSONObject]:
    """The documents of a file, or of all files of a folder."""
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    return [each for file in files for each in yaml.safe_load_all(file.read_text()) if each]


def kubeconfig(api: Cluster) -> Path:
    """A kubeconfig of the administrator."""
    file = api.folder / "kubeconfig"
    paths = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    file.write_text(json.dumps(kubeconfig_document(api, *paths)))
    return file


def define(client: Client, definitions: Iterable[JSONObject]) -> None:
    """Create CustomResourceDefinitions, and wait until their kinds are served."""
    made = [each for each in definitions if each["kind"] == _DEFINITION]
    for each in made:
        client.made(each)
    for each in made:
        spec = each["spec"]
        version = next(one["name"] for one in spec["versions"] if one["served"])
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        served(client, path)


def served(client: Client, path: str) -> None:
    """Wait until the API server has a list at a path."""
    until(lambda: client.send("GET", path).status == HTTPStatus.OK, f"{path} to be served")


def namespace(client: Client, name: str) -> None:
    client.made({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@contextmanager
def kyverno(api: Cluster, client: Client, logs: Path) -> Iterator[str]:
    """Kyverno's admission controller, until it has registered its webhooks; its host and port."""
    executable = program("kyverno")
    define(client, documents(folder() / "kyverno-crds"))
    namespace(client, KYVERNO)
    for name in ("kyverno", "kyverno-metrics"):
        metadata = {"name": name, "namespace": KYVERNO}
        client.made({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    port, metrics = free_ports(2)
    at = f"127.0.0.1:{port}"
    flags = {
        "kubeconfig": kubeconfig(api), "serverIP": at, "webhookServerPort": port,
        "webhookServerHost": "::", "caSecretName": f"{_TLS}-ca", "tlsSecretName": f"{_TLS}-pair",
        "metricsPort": metrics, "disableMetrics": "true", "controllerRuntimeMetricsAddress": "0",
        "tlsKeyAlgorithm": "ECDSA", "leaderElectionRetryPeriod": "1s", "loggingFormat": "json",
    }  # fmt: skip
    controller = "kyverno-admission-controller"
    names = {
        "KYVERNO_NAMESPACE": KYVERNO, "KYVERNO_SERVICEACCOUNT_NAME": controller,
        "KYVERNO_ROLE_NAME": "kyverno:admission-controller", "KYVERNO_DEPLOYMENT": controller,
        "KYVERNO_POD_NAME": "kyverno-0", "KYVERNO_SVC": "kyverno-svc",
        "INIT_CONFIG": "kyverno", "METRICS_CONFIG": "kyverno-metrics",
    }  # fmt: skip
    command = ["env", *(f"{name}={value}" for name, value in names.items()), executable]
    command += [f"--{name}={value}" for name, value in flags.items()]
    with process(command, logs / "kyverno.log") as child:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

        def registered() -> bool:
            if child.poll() is not None:
                raise AssertionError((logs / "kyverno.log").read_text()[-3000:])
            items = client.send("GET", path).body["items"]
            return any(each["metadata"]["name"].startswith("kyverno-policy") for each in items)

        until(registered, "Kyverno to register its webhooks", 120)
        until(lambda: _answers(f"https://{at}/health/readiness"), "Kyverno to be ready", 120)
        yield at


@contextmanager
def gatekeeper(api: Cluster, client: Client, logs: Path) -> Iterator[list[JSONObject]]:
    """Gatekeeper's webhooks, until it is ready; its configurations, with the URL of the process.

    They are not registered: only ``policyd compare`` calls it.
    """
    executable, installed = program("gatekeeper"), documents(folder() / "gatekeeper.yaml")
    define(client, installed)
    namespace(client, GATEKEEPER)
    certificate(api.folder, "tls", "/CN=gatekeeper")
    port, health = free_ports(2)
    flags = {
        "kubeconfig": kubeconfig(api), "port": port, "host": "127.0.0.1",
        "cert-dir": api.folder, "disable-cert-rotation": "true", "debug-use-fake-pod": "true",
        "health-addr": f"127.0.0.1:{health}", "log-level": "WARNING",
    }  # fmt: skip
    command = ["env", f"POD_NAMESPACE={GATEKEEPER}", "POD_NAME=gatekeeper-0", executable]
    command += [f"--{name}={value}" for name, value in flags.items()]
    command += [f"--operation={each}" for each in ("webhook", "mutation-webhook", "generate")]
    with process(command, logs / "gatekeeper.log") as child:

        def ready() -> bool:
            if child.poll() is not None:
                raise AssertionError((logs / "gatekeeper.log").read_text()[-3000:])
            return _answers(f"http://127.0.0.1:{health}/readyz")

        until(ready, "Gatekeeper to be ready", 120)
        authority = base64.b64encode((api.folder / "ca.crt").read_bytes()).decode()
        yield [
            _by_url(each, f"https://127.0.0.1:{port}", authority)
            for each in installed
            if each["kind"] in REGISTERED
        ]


def _answers(url: str) -> bool:
    """Whether a probe succeeds; its certificate is not verified."""
    with suppress(OSError):
        context = ssl._create_unverified_context()
        with urlopen(url, context=context) as answer:
            return bool(answer.status == HTTPStatus.OK)
    return False


def _by_url(configuration: JSONObject, url: str, authority: str) -> JSONObject:
    """Return a configuration whose Service is the process at a URL."""
    hooks = []
    for hook in configuration["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        hooks.append({**hook, "clientConfig": {"url": f"{url}{path}", "caBundle": authority}})
    return {**configuration, "webhooks": hooks}

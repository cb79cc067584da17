"""A real kube-apiserver for the tests in this folder, with policyd.

The tests run if the programs exist (in the folder ``$POLICYD_APISERVER_BIN``) or may be built
(``POLICYD_E2E=1``); otherwise none is collected, which the end of the run says.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests import shared
from tests.builders.objects import config_map
from tests.builders.policies import rule
from tests.e2e.builders import limiting
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, audit_log, certificate, cluster
from tests.e2e.definitions import Define, served
from tests.e2e.kubectl import Kubectl, kubeconfig_document
from tests.e2e.rights import bound, component, rights
from tests.e2e.settling import undecided
from tests.e2e.webhook import registered, serving, write
from tests.server.process import Process, until

Install = Callable[..., Process]


if shared.without_apiserver():
    collect_ignore_glob = ["*"]  # to collect them takes as long as a tenth of the other tests


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The API server of the whole run, with an audit log."""
    folder = tmp_path_factory.mktemp("apiserver")
    with cluster(folder, audit_log(folder)) as running:
        yield running


@pytest.fixture
def client(api: Cluster) -> Iterator[Client]:
    made = Client(api)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _settled(client: Client) -> Iterator[None]:
    """Set up first and torn down last: the next test finds no policy and no webhook of this one."""
    yield
    until(lambda: undecided(client), "what the test deleted to decide no longer")


@pytest.fixture
def namespace(client: Client, request: pytest.FixtureRequest) -> str:
    """A namespace for one test."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:60].strip(
        "-"
    )
    make_namespace(client, name)
    return name


@pytest.fixture
def install(api: Cluster, namespace: str, tmp_path: Path) -> Iterator[Install]:
    """Start policyd with some documents or paths and register it for the test's namespace.

    ``install(*sources, webhook={...}, **settings)``: fields of the webhook configuration, flags of
    ``policyd serve``.
    """
    with ExitStack() as stack:

        def start(
            *sources: JSONObject | Path, webhook: dict[str, Any] | None = None, **settings: str
        ) -> Process:
            paths = [each for each in sources if isinstance(each, Path)]
            documents = [each for each in sources if not isinstance(each, Path)]
            if documents:
                paths.append(write(tmp_path / "policies", documents))
            log = tmp_path / "policyd.log"
            server = stack.enter_context(serving(api, paths, log, **settings))
            stack.enter_context(registered(api, server, namespace, **(webhook or {})))
            return server

        yield start


@pytest.fixture
def kubectl(api: Cluster, tmp_path: Path) -> Kubectl:
    home = tmp_path / "home"
    home.mkdir()
    return Kubectl(api, home)


@pytest.fixture
def define(client: Client) -> Iterator[Define]:
    """Make the API server serve a custom resource until the end of the test."""
    with ExitStack() as stack:

        def serve(definition: JSONObject) -> None:
            stack.enter_context(served(client, definition))

        yield serve


@pytest.fixture(scope="session")
def watching(api: Cluster) -> None:
    """Make the API server watch ConfigMaps throughout the run: the policy stays until the end.

    The watch stops when the last policy with params of a built-in kind is deleted, and never
    restarts (k8s.io/apiserver policy_source.go): a later policy would see stale ConfigMaps.
    """
    documents = limiting({"apiVersion": "v1", "kind": "ConfigMap"}, name="none")
    probe = config_map("watched", "default")
    probe["metadata"]["labels"] = {"watched": "yes"}
    client = Client(api)
    for each in documents:
        each["metadata"] = {"name": "watching"}
    policy, binding = (each["spec"] for each in documents)
    policy["matchConstraints"] = {
        "resourceRules": [rule("configmaps")],
        "objectSelector": {"matchLabels": probe["metadata"]["labels"]},
    }
    binding["policyName"] = "watching"
    for each in documents:
        client.made(each)
    until(lambda: client.create(probe, dryRun="All").status != 201, "ConfigMaps being watched")
    client.close()


@pytest.fixture
def kubeconfig(api: Cluster, client: Client, tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of the user ``policyd`` with only the rights of the deployment's component."""
    (tmp_path / "ca.crt").write_bytes((api.folder / "ca.crt").read_bytes())
    (tmp_path / "ca.key").write_bytes((api.folder / "ca.key").read_bytes())
    certificate(tmp_path, "policyd", "/CN=policyd")
    asker, binding = component()
    binding["subjects"] = bound(asker, "User", "policyd")["subjects"]
    made = [asker, binding, *rights()]
    for each in made:
        client.made(each)
    document = kubeconfig_document(api, "ca.crt", "policyd.crt", "policyd.key")
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(document))
    yield file
    for each in made:
        client.deleted(each)


def make_namespace(client: Client, name: str, **labels: str) -> JSONObject:
    """A Namespace document, which policyd may be given too."""
    made = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}},
    }
    client.made(made)
    return made

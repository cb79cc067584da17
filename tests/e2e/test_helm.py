"""The life of a release at a real API server: who owns the webhook configurations, and who may write.

There are no controllers, so no Pod runs: the tests fill the configurations as policyd does.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import policy, rule
from tests.deploy import rendering
from tests.e2e import in_cluster
from tests.e2e.client import APPLY, Client
from tests.e2e.cluster import Cluster, certificate, free_ports
from tests.e2e.conftest import make_namespace
from tests.e2e.kubectl import Kubectl
from tests.e2e.webhook import write
from tests.server.process import until

NAMESPACE = "policyd-release"
RELEASE = "policyd-test"
ADMISSION = "admissionregistration.k8s.io/v1"
KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
ACCOUNT = ("Impersonate-User", f"system:serviceaccount:{NAMESPACE}:{RELEASE}")
Helm = Callable[..., str]


@pytest.fixture(name="helm")
def _helm(client: Client, kubectl: Kubectl, tmp_path: Path) -> Iterator[Helm]:
    """``helm("install")``, with values: what it prints. The release is gone after the test."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    if client.get(namespace).status == 404:
        make_namespace(client, NAMESPACE)

    def run(command: str, *arguments: str) -> str:
        done = rendering.helm(
            command, RELEASE, *arguments, "-n", NAMESPACE, home=str(tmp_path / "home")
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    rendering.helm(
        "uninstall", RELEASE, "--ignore-not-found", "-n", NAMESPACE, home=str(tmp_path / "home")
    )


@pytest.fixture(name="account")
def _account(api: Cluster) -> Iterator[Client]:
    """policyd's service account, with the rights that the chart gives it."""
    client = Client(api, [ACCOUNT])
    yield client
    client.close()


def configuration(kind: str, **fields: object) -> JSONObject:
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": RELEASE}, **fields}


def filled(kind: str) -> JSONObject:
    """What policyd applies: webhooks, and a label of its own that nobody else writes."""
    webhook = {
        "name": "a.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/validate"},
        "sideEffects": "None",
        "rules": [],
    }
    return configuration(kind, webhooks=[webhook])


def fill(account: Client) -> None:
    for kind in KINDS:
        document = filled(kind)
        answer = account.patch(document, document, APPLY, fieldManager="policyd", force="true")
        assert answer.status == 200, answer.body


def webhooks(client: Client) -> list[list[str]]:
    found = [client.get(configuration(kind)).body for kind in KINDS]
    return [[each["name"] for each in one.get("webhooks", [])] for one in found]


FILLED = [["a.policyd.dev"], ["a.policyd.dev"]]


def test_webhooks_of_policyd_survive_upgrades_and_rollbacks(
    helm: Helm, client: Client, account: Client
) -> None:
    helm("install", str(rendering.CHART))
    assert webhooks(client) == [[], []]
    fill(account)
    helm("upgrade", str(rendering.CHART), "--set", "replicas=2", "--set", "labels.team=a")
    assert webhooks(client) == FILLED
    helm("rollback", "1")
    assert webhooks(client) == FILLED
    fill(account)


def test_after_an_uninstall_no_webhook_is_left_and_none_can_come_back(
    helm: Helm, client: Client, account: Client
) -> None:
    """Replicas that still run must not make them again."""
    helm("install", str(rendering.CHART))
    fill(account)
    helm("uninstall")
    for kind in KINDS:
        assert client.get(configuration(kind)).status == 404
        document = filled(kind)
        answer = account.patch(document, document, APPLY, fieldManager="policyd", force="true")
        assert answer.status == 403


def test_policyd_may_fill_its_configurations_but_not_make_or_delete_any(
    helm: Helm, client: Client, account: Client
) -> None:
    helm("install", str(rendering.CHART))
    fill(account)
    for kind in KINDS:
        assert account.delete(configuration(kind)).status == 403
        other = filled(kind)
        other["metadata"] = {"name": "other"}
        assert account.create(other).status == 403
        assert account.patch(other, other, APPLY, fieldManager="policyd").status == 403


ALLOWED = "yes"
DENIED = "no"


@pytest.mark.parametrize(
    ("asked", "namespaced", "allowed"),
    [
        ("get secrets/policyd-test-tls", True, ALLOWED),
        ("update secrets/policyd-test-tls", True, ALLOWED),
        ("create secrets", True, ALLOWED),
        ("get secrets/other", True, DENIED),
        ("list secrets", True, DENIED),
        ("delete secrets/policyd-test-tls", True, DENIED),
        ("list configmaps", True, ALLOWED),
        ("update configmaps/policyd-test-last-good", True, ALLOWED),
        ("update configmaps/policyd-test-policies", True, DENIED),
        ("update leases/policyd", True, ALLOWED),
        ("update leases/other", True, DENIED),
        ("list namespaces", False, ALLOWED),
        ("update namespaces", False, DENIED),
        ("watch customresourcedefinitions", False, ALLOWED),
        ("create subjectaccessreviews", False, ALLOWED),
        ("list pods", True, DENIED),
        ("list secrets", False, DENIED),
        ("list configmaps", False, DENIED),
        ("create mutatingwebhookconfigurations", False, DENIED),
        ("delete mutatingwebhookconfigurations", False, DENIED),
    ],
)
def test_rights_of_the_service_account(
    helm: Helm, kubectl: Kubectl, asked: str, namespaced: bool, allowed: str
) -> None:
    helm("install", str(rendering.CHART))
    scope = ["-n", NAMESPACE] if namespaced else ["--all-namespaces"]
    _, printed, _ = kubectl.printed("auth", "can-i", *asked.split(), *scope, f"--as={ACCOUNT[1]}")
    assert printed.split()[0] == allowed


def test_policyd_registers_with_the_rights_of_the_chart(
    helm: Helm, api: Cluster, client: Client, tmp_path: Path
) -> None:
    """It fills what the chart made, leaves what Helm wrote, and cannot come back afterwards."""
    helm("install", str(rendering.CHART))
    for name in ("ca.crt", "ca.key"):
        (tmp_path / name).write_bytes((api.folder / name).read_bytes())
    certificate(tmp_path, "account", f"/CN={ACCOUNT[1]}")
    user = {each: str(tmp_path / f"account.{each}") for each in ("crt", "key")}
    config = in_cluster.kubeconfig(api, tmp_path, **user)
    (port,) = free_ports(1)
    sources = write(tmp_path / "policies", [policy("p", rule("configmaps"))])
    log = tmp_path / "policyd.log"
    settings = {
        "bind": f"127.0.0.1:{port}",
        "webhook_url": f"https://127.0.0.1:{port}",
        "webhook_name": RELEASE,
        "manage_certificates": "",
        "certificate_secret": f"{RELEASE}-tls",
        "register": "",
    }
    with in_cluster.replica(config, sources, log, NAMESPACE, **settings):
        until(lambda: in_cluster.webhooks(client, RELEASE), "webhooks")
        assert webhooks(client) == [["validate-fail.policyd.dev"], []]
        labels = client.get(configuration(KINDS[0])).body["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        helm("upgrade", str(rendering.CHART), "--set", "replicas=2")
        helm("rollback", "1")
        assert webhooks(client) == [["validate-fail.policyd.dev"], []]
        helm("uninstall")
        until(
            lambda: "cannot write the ValidatingWebhookConfiguration" in log.read_text(),
            "a refusal",
        )
        assert in_cluster.configurations(client, RELEASE) == []

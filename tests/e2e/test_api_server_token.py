"""``serve --require-api-server-token`` with tokens of a real API server, whose feature gate is on.

No API server of 1.37 requests such tokens for its own calls; here it reads them from files, as any
credential of a webhook.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests import kubernetes
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy
from tests.builders.reviews import body
from tests.e2e import in_cluster
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster, cluster, free_ports
from tests.e2e.webhook import KINDS, configuration, write
from tests.server.process import Process, until

if kubernetes.chosen() < "1.37":
    pytest.skip("Kubernetes issues tokens for webhooks since 1.37", allow_module_level=True)

GATE = "--feature-gates=APIServerWebhookAuthenticationToken=true"
ACCOUNT: JSONObject = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "webhook-auth", "namespace": "kube-system"},
}
PLUGINS = {"validate": "ValidatingAdmissionWebhook", "mutate": "MutatingAdmissionWebhook"}
POLICIES = [
    policy(
        "no-bad", CONFIG_MAPS, validations=[demand("object.metadata.name != 'bad'", "bad name")]
    ),
    policy("stamp", CONFIG_MAPS, mutations=[labelling("stamp", "'v1'")]),
]
Start = Callable[..., Process]


def right_to_attest() -> list[JSONObject]:
    """The role that lets the account attest to all groups."""
    group, metadata = "rbac.authorization.k8s.io", {"name": "webhook-auth-attest"}
    rule = {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["admissionReviewAPIGroups"],
        "verbs": ["attest"],
    }
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata}
    return [
        {**role, "rules": [rule]},
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", **metadata},
            "subjects": [{**ACCOUNT["metadata"], "kind": "ServiceAccount"}],
        },
    ]


def admission_configuration(folder: Path) -> Path:
    """How the API server presents a token to webhooks: from a file for each of both plugins."""
    plugins = []
    for webhook, plugin in PLUGINS.items():
        user = {"name": "*", "user": {"tokenFile": str(folder / f"{webhook}.token")}}
        kubeconfig = folder / f"{webhook}.kubeconfig"
        kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [user]}))
        told = {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": str(kubeconfig),
        }
        plugins.append({"name": plugin, "configuration": told})
    file = folder / "admission.json"
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    file.write_text(json.dumps({**kind, "plugins": plugins}))
    return file


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server of its own, with the gate, and the account that tokens are of."""
    folder = tmp_path_factory.mktemp("tokens")
    flags = [GATE, f"--admission-control-config-file={admission_configuration(folder)}"]
    with cluster(folder, flags) as running:
        client = Client(running)
        for each in (ACCOUNT, *right_to_attest()):
            client.made(each)
        client.close()
        yield running


@pytest.fixture
def port() -> int:
    """The port of policyd, which is part of the audience."""
    return free_ports(1)[0]


@pytest.fixture
def start(api: Cluster, port: int, namespace: str, tmp_path: Path) -> Iterator[Start]:
    """``start(*flags)``: policyd with the keys that the API server publishes, or those of flags."""
    with ExitStack() as stack:

        def started(*flags: str) -> Process:
            sources = write(tmp_path / "policies", POLICIES)
            command = [
                sys.executable,
                "-m",
                "policyd",
                "serve",
                f"--policies={sources}",
                f"--tls-cert={api.folder / 'server.crt'}",
                f"--tls-key={api.folder / 'server.key'}",
                f"--bind=127.0.0.1:{port}",
                "--admin-bind=127.0.0.1:0",
                "--require-api-server-token",
                f"--token-audience=https://127.0.0.1:{port}",
                *(f"--token-configuration={webhook}-{namespace}" for webhook in KINDS),
                *(flags or [f"--kubeconfig={in_cluster.kubeconfig(api, tmp_path)}"]),
            ]
            process = Process(command, tmp_path / "policyd.log")
            stack.callback(process.kill)
            return process

        yield started


def requested(client: Client, audience: str, bound: JSONObject | None, *groups: str) -> Answer:
    """The answer to a TokenRequest for the account."""
    spec: JSONObject = {"audiences": [audience], "expirationSeconds": 600}
    if bound is not None:
        reference = {key: bound[key] for key in ("apiVersion", "kind")}
        spec["boundObjectRef"] = {**reference, "name": bound["metadata"]["name"]}
        spec["attestations"] = {"admissionReviewAPIGroups": list(groups)}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = "/api/v1/namespaces/kube-system/serviceaccounts/webhook-auth/token"
    return client.send("POST", path, request)


def issued(client: Client, audience: str, bound: JSONObject | None, *groups: str) -> str:
    answer = requested(client, audience, bound, *groups)
    assert answer.status == 201, answer.message
    token: str = answer.body["status"]["token"]
    return token


def posted(server: Process, path: str, token: str, **fields: Any) -> tuple[int, Any]:
    return server.post(path, body(**fields), Authorization=f"Bearer {token}")


@pytest.fixture
def bound(
    api: Cluster, client: Client, port: int, namespace: str
) -> Iterator[dict[str, JSONObject]]:
    """Configurations of both webhooks that are never called: no namespace has this name."""
    made = {each: configuration(each, api, port, "nowhere") for each in KINDS}
    for webhook, each in made.items():
        each["metadata"]["name"] = f"{webhook}-{namespace}"
        client.made(each)
    yield made
    for each in made.values():
        client.delete(each)


def test_tokens_of_the_api_server_are_accepted(
    client: Client, start: Start, port: int, bound: dict[str, JSONObject]
) -> None:
    server = start()
    for webhook, configured in bound.items():
        audience = f"https://127.0.0.1:{port}/{webhook}"
        token = issued(client, audience, configured, "*")
        status, answer = posted(server, f"/{webhook}", token)
        assert status == 200, answer
        assert answer["response"]["allowed"] is True
        for path in ("/validate/fail", "/mutate/fail"):
            assert posted(server, path, token)[0] == 401
    (line,) = server.lines("token-keys")
    assert line["issuer"] == "https://kubernetes.default.svc"


def test_tokens_for_one_group_are_for_that_group(
    client: Client, start: Start, port: int, bound: dict[str, JSONObject]
) -> None:
    server = start()
    audience = f"https://127.0.0.1:{port}/validate"
    token = issued(client, audience, bound["validate"], "apps")
    apps = {"group": "apps", "version": "v1", "resource": "deployments"}
    assert posted(server, "/validate", token, resource=apps)[0] == 200
    assert posted(server, "/validate", token)[0] == 403


def test_other_tokens_of_the_api_server_are_refused(
    client: Client, start: Start, port: int, bound: dict[str, JSONObject]
) -> None:
    server = start()
    audience = f"https://127.0.0.1:{port}/validate"
    mutating = issued(client, audience, bound["mutate"], "*")
    rows = [
        ("configuration", issued(client, audience, None)),
        ("configuration", mutating),
        ("audience", issued(client, "https://elsewhere.example", bound["validate"], "*")),
        ("audience", issued(client, "https://kubernetes.default.svc", None)),
    ]
    for cause, token in rows:
        series = f'policyd_unauthenticated_requests_total{{cause="{cause}"}}'
        before = server.metric(series)
        status, answer = posted(server, "/validate", token)
        assert (status, server.metric(series)) == (401, before + 1), answer
    denied = requested(client, "https://elsewhere.example", bound["validate"], "apps")
    assert denied.status == 403, "the audience of a token for one group is that of the webhook"


def test_keys_of_a_file_verify_tokens_without_a_cluster(
    api: Cluster, client: Client, start: Start, port: int, bound: dict[str, JSONObject]
) -> None:
    """As ``kubectl get --raw /openid/v1/jwks`` prints them."""
    file = api.folder / "keys.json"
    file.write_bytes(api.request("GET", "/openid/v1/jwks")[1])
    server = start(f"--token-keys={file}", "--token-issuer=https://kubernetes.default.svc")
    token = issued(client, f"https://127.0.0.1:{port}/validate", bound["validate"], "*")
    assert posted(server, "/validate", token)[0] == 200


def test_the_api_server_presents_tokens_of_a_file(
    api: Cluster, client: Client, start: Start, port: int, namespace: str
) -> None:
    """Whole: the API server calls both webhooks with tokens that it issued. Those are for one path;
    at another path failurePolicy of the webhook decides.
    """
    server = start()
    good, bad = config_map("good", namespace), config_map("bad", namespace)
    with ExitStack() as stack:
        for webhook in KINDS:
            made = configuration(webhook, api, port, namespace)
            client.made(made)
            stack.callback(client.delete, made)
            token = issued(client, f"https://127.0.0.1:{port}/{webhook}", made, "*")
            (api.folder / f"{webhook}.token").write_text(token)
        until(lambda: client.create(bad, dryRun="All").status != 201, "a denial")
        assert "bad name" in client.create(bad, dryRun="All").message
        admitted = client.create(good, dryRun="All")
        assert admitted.body["metadata"]["labels"] == {"stamp": "v1"}
        other = configuration("validate", api, port, namespace)
        other["metadata"]["name"] += "-fail"
        (entry,) = other["webhooks"]
        entry["clientConfig"]["url"] += "/fail"
        client.made(other)
        stack.callback(client.delete, other)
        until(lambda: client.create(good, dryRun="All").status != 201, "a refusal")
        answer = client.create(good, dryRun="All")
        assert (answer.status, "failed calling webhook" in answer.message) == (500, True)
        assert server.metric('policyd_unauthenticated_requests_total{cause="audience"}') >= 2
        stored = client.get(other).body
        stored["webhooks"][0]["failurePolicy"] = "Ignore"
        assert client.replace(stored).status == 200
        until(lambda: client.create(good, dryRun="All").status == 201, "what Ignore admits")

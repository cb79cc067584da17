"""``serve --require-api-server-token`` with tokens of a real API server, whose feature gate is on.

No API server of 1.37 requests such tokens for its own calls; here it reads them from files, as any
credential of a webhook.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
from tests.e2e.cluster import Cluster, cluster, free_ports, new_key, openssl
from tests.e2e.restarting import Restarting
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
            configurations = [f"--token-configuration={webhook}-{namespace}" for webhook in KINDS]
            keys = flags or [f"--kubeconfig={in_cluster.kubeconfig(api, tmp_path)}"]
            return stack.enter_context(serving(api, port, tmp_path, *configurations, *keys))

        yield started


@contextmanager
def serving(api: Cluster, port: int, folder: Path, *flags: str) -> Iterator[Process]:
    """policyd, which requires tokens."""
    command = [
        sys.executable,
        "-m",
        "policyd",
        "serve",
        f"--policies={write(folder / 'policies', POLICIES)}",
        f"--tls-cert={api.folder / 'server.crt'}",
        f"--tls-key={api.folder / 'server.key'}",
        f"--bind=127.0.0.1:{port}",
        "--admin-bind=127.0.0.1:0",
        "--require-api-server-token",
        f"--token-audience=https://127.0.0.1:{port}",
        *flags,
    ]
    process = Process(command, folder / "policyd.log")
    try:
        yield process
    finally:
        process.kill()


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
        client.deleted(each)


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
            stack.callback(client.deleted, made)
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
        stack.callback(client.deleted, other)
        until(lambda: client.create(good, dryRun="All").status != 201, "a refusal")
        answer = client.create(good, dryRun="All")
        assert (answer.status, "failed calling webhook" in answer.message) == (500, True)
        assert server.metric('policyd_unauthenticated_requests_total{cause="audience"}') >= 2
        stored = client.get(other).body
        stored["webhooks"][0]["failurePolicy"] = "Ignore"
        assert client.replace(stored).status == 200
        until(lambda: client.create(good, dryRun="All").status == 201, "what Ignore admits")


def test_a_configuration_that_was_made_anew_has_another_uid(
    api: Cluster, client: Client, port: int, bound: dict[str, JSONObject], tmp_path: Path
) -> None:
    stored = client.get(bound["validate"]).body
    name, uid = stored["metadata"]["name"], stored["metadata"]["uid"]
    token = issued(client, f"https://127.0.0.1:{port}/validate", stored, "*")
    keys = f"--kubeconfig={in_cluster.kubeconfig(api, tmp_path)}"
    for wanted, status in ((uid, 200), ("another", 401)):
        with serving(api, port, tmp_path, keys, f"--token-configuration={name}/{wanted}") as server:
            assert posted(server, "/validate", token)[0] == status


@pytest.mark.usefixtures("api")  # which skips where there is no API server
def test_keys_are_rotated_by_restarts_of_the_api_server(tmp_path: Path, port: int) -> None:
    """First both keys are published, and the new one signs; then the former is removed."""
    running = Restarting(tmp_path)
    stem = tmp_path / "new"
    openssl("req", "-x509", "-subj", "/CN=new", *new_key(stem), cwd=tmp_path)
    new = [
        f"--service-account-{each}"
        for each in (f"key-file={stem}.crt", f"signing-key-file={stem}.key")
    ]
    with running.store(), ExitStack() as stack:
        api = running.start(GATE)
        configured = configuration("validate", api, port, "nowhere")
        with_client(
            api,
            lambda client: [
                client.made(each) for each in (ACCOUNT, *right_to_attest(), configured)
            ],
        )

        def token() -> str:
            audience = f"https://127.0.0.1:{port}/validate"
            return str(with_client(api, lambda client: issued(client, audience, configured, "*")))

        keys = f"--kubeconfig={in_cluster.kubeconfig(api, tmp_path)}"
        name = f"--token-configuration={configured['metadata']['name']}"
        server = stack.enter_context(serving(api, port, tmp_path, keys, name))

        def status(token: str) -> int:
            return posted(server, "/validate", token)[0]

        former = token()
        assert status(former) == 200
        running.stop()
        assert status(former) == 200
        api = running.start(GATE, *new)
        latter = token()
        until(lambda: status(latter) == 200, "the new key")
        assert status(former) == 200
        running.stop()
        api = running.start(GATE, *new, without="--service-account-key-file")
        assert status(token()) == 200
        until(lambda: status(former) == 401, "the removal of the former key")
        assert status(latter) == 200


def with_client(api: Cluster, work: Callable[[Client], Any]) -> Any:
    """Do something with a client of an API server."""
    client = Client(api)
    try:
        return work(client)
    finally:
        client.close()

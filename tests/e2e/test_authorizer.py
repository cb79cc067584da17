"""What expressions ask the authorizer is answered alike in the API server and by policyd, which asks it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import ADMISSION, CONFIG_MAPS, demand, json_patch, policy, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import Install
from tests.e2e.in_tree import ALL, HOOK, TREE, both
from tests.e2e.load import load
from tests.e2e.rights import MAKERS, component
from tests.server.process import until

# Who sends requests; each is one of the MAKERS too, who may create ConfigMaps.
USERS: dict[str, Sequence[str]] = {
    "bob": ["writers"],
    "dev": ["system:masters"],
    "eve": [],
    "lost": ["lost"],
}
ASKED = (
    "authorizer.group('').resource('configmaps').namespace('default').check('create')",
    "authorizer.group('').resource('secrets').check('get')",
    "authorizer.group('').resource('secrets').namespace('a').name('shared').check('get')",
    "authorizer.group('apps').resource('deployments').check('update')",
    "authorizer.group('apps').resource('deployments').subresource('scale').check('update')",
    "authorizer.path('/debug/x').check('get')",
    "authorizer.path('/exact').check('get')",
    "authorizer.path('/exact').check('post')",
    "authorizer.requestResource.check('create')",
    "authorizer.requestResource.check('delete')",
    "authorizer.serviceAccount('default', 'robot').group('').resource('services')"
    ".namespace('default').check('create')",
    "authorizer.serviceAccount('other', 'robot').group('').resource('services')"
    ".namespace('default').check('create')",
    "authorizer.group('').resource('pods').labelSelector('a in (b)').check('list')",
    "authorizer.group('').resource('pods').labelSelector('a in (').check('list')",
    "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').check('list')",
    "authorizer.group('').resource('pods').fieldSelector('spec.nodeName').check('list')",
)
SHOWN = (
    "string({0}.allowed()) + '|' + {0}.reason() + '|' + string({0}.errored()) + '|' + {0}.error()"
)


def variables() -> list[JSONObject]:
    return [{"name": f"q{i}", "expression": text} for i, text in enumerate(ASKED)]


def names() -> list[str]:
    return [f"variables.q{i}" for i in range(len(ASKED))]


def documents(kind: str, **spec: Any) -> list[JSONObject]:
    """A policy about ConfigMaps called ``asked`` and its binding."""
    constraints = {"resourceRules": [rule("configmaps", operations=["CREATE"])]}
    condition = {"name": "asked", "expression": "object.metadata.name == 'asked'"}
    bound: JSONObject = {"policyName": "asks"}
    if kind == "ValidatingAdmissionPolicy":
        bound["validationActions"] = ["Warn"]
    spec = {
        "matchConstraints": constraints,
        "matchConditions": [condition],
        "variables": variables(),
        "failurePolicy": "Fail",
        **spec,
    }
    meta = {"name": "asks"}
    return [
        {"apiVersion": ADMISSION, "kind": kind, "metadata": meta, "spec": spec},
        {"apiVersion": ADMISSION, "kind": f"{kind}Binding", "metadata": meta, "spec": bound},
    ]


@contextmanager
def speaking_as(api: Cluster, user: str) -> Iterator[Client]:
    groups = [("Impersonate-Group", group) for group in (*USERS[user], MAKERS)]
    client = Client(api, [("Impersonate-User", user), *groups])
    yield client
    client.close()


def test_mutations_write_the_same_decisions_reasons_and_errors(
    api: Cluster, client: Client, tmp_path: Path, kubeconfig: Path
) -> None:
    entries = ", ".join(f"'q{i}': {SHOWN.format(name)}" for i, name in enumerate(names()))
    patch = json_patch(f"[JSONPatch{{op: 'add', path: '/data', value: {{{entries}}}}}]")
    policies = documents("MutatingAdmissionPolicy", mutations=[patch], reinvocationPolicy="Never")
    written: dict[str, list[Any]] = {}
    with both(api, client, policies, tmp_path, "may-", kubeconfig=str(kubeconfig)) as namespace:
        for user in USERS:
            with speaking_as(api, user) as speaker:
                written[user] = [
                    speaker.made(config_map("asked", namespace(side, ALL)), dryRun="All")["data"]
                    for side in (TREE, HOOK)
                ]
    for user, (tree, hook) in written.items():
        assert hook == tree, user
    found = {
        user: [tree[f"q{i}"].split("|") for i in range(len(ASKED))]
        for user, (tree, _) in written.items()
    }
    assert {allowed for allowed, *_ in found["bob"]} == {"true", "false"}
    assert "RBAC: allowed by" in found["bob"][2][1]
    assert all(allowed == "true" for allowed, *_ in found["dev"][:10])
    assert "not found" in found["lost"][1][1]
    print(f"{len(ASKED) * len(USERS)} answers alike")


def test_validations_warn_and_deny_of_the_same(
    api: Cluster, client: Client, tmp_path: Path, kubeconfig: Path
) -> None:
    demands = [demand(f"{name}.allowed()", f"no {i}") for i, name in enumerate(names())]
    policies = documents("ValidatingAdmissionPolicy", validations=demands)
    with both(api, client, policies, tmp_path, "may-", kubeconfig=str(kubeconfig)) as namespace:
        for user in USERS:
            with speaking_as(api, user) as speaker:
                answers = [
                    speaker.create(config_map("asked", namespace(side, ALL)), dryRun="All")
                    for side in (TREE, HOOK)
                ]
            assert [each.status for each in answers] == [201, 201]
            tree, hook = (set(each.warnings) for each in answers)
            assert hook == tree, user
            assert tree


def test_without_the_right_to_ask_the_failure_policy_decides(
    client: Client, kubeconfig: Path, namespace: str, install: Install
) -> None:
    client.deleted(component()[1])
    install(
        policy("strict", CONFIG_MAPS, validations=[demand(f"{ASKED[1]}.allowed()", "no")]),
        policy(
            "lax",
            CONFIG_MAPS,
            validations=[demand(f"{ASKED[0]}.allowed()", "no")],
            failurePolicy="Ignore",
        ),
        kubeconfig=str(kubeconfig),
    )
    answer = client.create(config_map("asked", namespace), dryRun="All")
    assert answer.status == 422
    (cause,) = answer.causes
    assert "cannot find out whether 'admin' may get secrets: the API server answered 403" in cause
    assert 'User "policyd" cannot create resource "subjectaccessreviews"' in cause


def test_labels_of_namespaces_are_those_of_the_cluster(
    client: Client, kubeconfig: Path, namespace: str, install: Install
) -> None:
    sales = {"namespaceSelector": {"matchLabels": {"team": "sales"}}}
    rules = {"resourceRules": [rule("configmaps")]}
    team = "namespaceObject.metadata.labels[?'team'].orValue('none')"
    install(
        policy("seen", CONFIG_MAPS, validations=[demand(f"{team} != 'sales'", "seen")]),
        policy("selected", matchConstraints={**rules, **sales}, validations=[demand("false", "x")]),
        policy(
            "other", CONFIG_MAPS, validations=[demand("object.metadata.name != 'asked'", "other")]
        ),
        kubeconfig=str(kubeconfig),
    )

    def told() -> list[str]:
        answer = client.create(config_map("asked", namespace), dryRun="All")
        assert answer.status == 422
        return [cause.split("'")[1] for cause in answer.causes]

    assert told() == ["other"]
    this = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    changed = client.patch(this, {"metadata": {"labels": {"team": "sales"}}})
    assert changed.status == 200
    until(lambda: told() == ["other", "seen", "selected"], "the new label")


def test_overload_is_tried_again_by_the_api_server(
    api: Cluster, namespace: str, kubeconfig: Path, install: Install
) -> None:
    """A request that waits for an answer keeps its room: with room for one, others get a 503."""
    asks = "authorizer.group('').resource('pods').check('get').reason() != 'none'"
    server = install(
        policy("asks", CONFIG_MAPS, validations=[demand(asks, "no")]),
        # Not what policyd itself asks: before 1.37 its SubjectAccessReviews would need the room.
        webhook={"rules": [rule("configmaps")]},
        max_in_flight="1",
        kubeconfig=str(kubeconfig),
    )
    with load(api, namespace) as running:
        shed = 'policyd_shed_requests_total{reason="requests"}'
        until(lambda: server.metric(shed) > 3, "503s")
        running.stop()
        assert running.failures == []

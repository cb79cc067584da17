"""``policyd webhooks rbac``: exactly what reads and params need, where they need it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.objects import gadget_definition
from tests.builders.policies import CONFIG_MAPS, policy

INGRESSES = {"name": "ingresses", "apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
PODS = {"name": "pods", "apiVersion": "v1", "kind": "Pod"}
NODES = {"name": "nodes", "apiVersion": "v1", "kind": "Node"}
SERVICES = {"name": "services", "apiVersion": "v1", "kind": "Service"}
GADGETS = {"name": "gadgets", "apiVersion": "example.com/v1", "kind": "Gadget"}
GATEWAYS = {"name": "gateways", "apiVersion": "gateway.example.com/v1", "kind": "Gateway"}
CONFIGURED: JSONObject = {
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "paramRef": {"name": "limits", "namespace": "shop", "parameterNotFoundAction": "Deny"},
}
CORE = [""]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(documents: list[JSONObject], *flags: str) -> Result:
    Path("policies.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    done = CliRunner().invoke(policyd, ["webhooks", "rbac", "-p", "policies.yaml", *flags])
    assert done.exit_code == 0, done.output
    return done


def reading(*reads: JSONObject, name: str = "a", **fields: Any) -> JSONObject:
    return policy(name, CONFIG_MAPS, reads=[*reads], **fields)


def granted(done: Result) -> list[tuple[str, str, list[JSONObject]]]:
    """Kind, namespace and rules of each role."""
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    return [
        (each["kind"], each["metadata"].get("namespace", ""), each["rules"])
        for each in found
        if "rules" in each
    ]


def allowed(group: str, *resources: str, verbs: tuple[str, ...] = ("list", "watch")) -> JSONObject:
    return {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}


PARAM = ("get", "list", "watch")
ROLES: dict[str, tuple[list[JSONObject], list[tuple[str, str, list[JSONObject]]]]] = {
    "nothing": ([policy("a")], []),
    "the namespace of the request": (
        [reading(INGRESSES)],
        [("ClusterRole", "", [allowed("networking.k8s.io", "ingresses")])],
    ),
    "any namespace": (
        [reading({**PODS, "namespace": "any"}, {**SERVICES, "namespace": "any"})],
        [("ClusterRole", "", [allowed("", "pods", "services")])],
    ),
    "no namespace": ([reading(NODES)], [("ClusterRole", "", [allowed("", "nodes")])]),
    "one namespace": (
        [reading({**PODS, "namespace": "shop"})],
        [("Role", "shop", [allowed("", "pods")])],
    ),
    "several places of several policies": (
        [
            reading({**PODS, "namespace": "shop"}, {**SERVICES, "namespace": "store"}),
            reading({**PODS, "namespace": "store"}, {**INGRESSES, "namespace": "any"}, name="b"),
        ],
        [
            ("ClusterRole", "", [allowed("networking.k8s.io", "ingresses")]),
            ("Role", "shop", [allowed("", "pods")]),
            ("Role", "store", [allowed("", "pods", "services")]),
        ],
    ),
    "one namespace that all include": (
        [reading({**PODS, "namespace": "shop"}), reading({**PODS, "namespace": "any"}, name="b")],
        [("ClusterRole", "", [allowed("", "pods")])],
    ),
    "a defined kind": (
        [gadget_definition(), reading({**GADGETS, "namespace": "any"})],
        [("ClusterRole", "", [allowed("example.com", "gadgets")])],
    ),
    "params": (
        [reading(INGRESSES, **CONFIGURED)],
        [
            ("ClusterRole", "", [allowed("networking.k8s.io", "ingresses")]),
            ("Role", "shop", [allowed("", "configmaps", verbs=PARAM)]),
        ],
    ),
}


@pytest.mark.parametrize(("documents", "want"), ROLES.values(), ids=ROLES.keys())
def test_roles_grant_what_is_read_and_nothing_else(
    folder: Path, documents: list[JSONObject], want: list[tuple[str, str, list[JSONObject]]]
) -> None:
    done = run(documents)
    assert granted(done) == want
    assert ("no role is needed" in done.stderr) == (not want)
    as_json = json.loads(run(documents, "--format", "json").stdout)
    assert as_json["items"] == [each for each in yaml.safe_load_all(done.stdout) if each]


def test_each_role_is_bound_to_the_service_account(folder: Path) -> None:
    documents = [reading(INGRESSES, {**PODS, "namespace": "shop"})]
    done = run(documents, "--namespace", "guards", "--service-account", "guard")
    made = list(yaml.safe_load_all(done.stdout))
    assert [(each["kind"], each["metadata"]["name"]) for each in made] == [
        ("ClusterRole", "guard-reads"),
        ("ClusterRoleBinding", "guard-reads"),
        ("Role", "guard-reads"),
        ("RoleBinding", "guard-reads"),
    ]
    for allowed, bound in zip(made[::2], made[1::2], strict=True):
        assert bound["roleRef"]["kind"] == allowed["kind"]
        assert bound["roleRef"]["name"] == allowed["metadata"]["name"]
        assert bound["metadata"] == allowed["metadata"]
        account = {"kind": "ServiceAccount", "name": "guard", "namespace": "guards"}
        assert bound["subjects"] == [account]


def test_a_resource_that_is_only_assumed_is_noted(folder: Path) -> None:
    done = run([reading(GATEWAYS)])
    assert granted(done) == [("ClusterRole", "", [allowed("gateway.example.com", "gateways")])]
    assert done.stderr == (
        "note: the resource of Gateway (gateway.example.com/v1) is assumed to be gateways: "
        "no CustomResourceDefinition of it is known\n"
    )

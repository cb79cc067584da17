"""Which resource a kind is: one module decides, and everything else asks it."""

import ast
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import builtin_table
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.kinds.served import known_resources
from tests.builders.objects import definition
from tests.shared import ROOT
from tools.tree import files

BOX = definition(
    "Box", "example.com", {}, names={"kind": "Box", "plural": "boxen"}, scope="Cluster"
)
GADGET: JSONObject = definition(
    "Gadget",
    "example.com",
    {},
    versions=[{"name": "v1", "served": True, "storage": True}, {"name": "v0", "served": False}],
)
MAPPER = BUILT_IN.with_definitions([BOX]).with_definitions([GADGET])


def mapped(api_version: str, kind: str) -> tuple[str, bool, str]:
    found = MAPPER.of(api_version, kind)
    assert (f"{found.group}/{found.version}").removeprefix("/") == api_version
    return found.resource, found.namespaced, found.doubt


ROWS = [
    ("v1", "Pod", "pods", True, ""),
    ("v1", "Endpoints", "endpoints", True, ""),
    ("networking.k8s.io/v1", "IngressClass", "ingressclasses", False, ""),
    # Versions that clusters do not serve by default, or no longer.
    ("certificates.k8s.io/v1beta1", "ClusterTrustBundle", "clustertrustbundles", False, ""),
    ("resource.k8s.io/v1alpha3", "DeviceTaintRule", "devicetaintrules", False, ""),
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", "clusterroles", False, ""),
    ("batch/v1beta1", "CronJob", "cronjobs", True, ""),
    ("example.com/v1", "Box", "boxen", False, ""),
    ("example.com/v2", "Box", "boxen", False, "its CustomResourceDefinition serves v1"),
    ("example.com/v1", "Gadget", "gadgets", True, ""),
    ("example.com/v0", "Gadget", "gadgets", True, "its CustomResourceDefinition serves v1"),
    ("other.com/v1", "Box", "boxes", True, "no CustomResourceDefinition of it is known"),
    ("apps/v1", "Box", "boxes", True, "Kubernetes has no such kind"),
    ("", "", "", True, "Kubernetes has no such kind"),
]


@pytest.mark.parametrize(("home", "kind", "resource", "namespaced", "doubt"), ROWS)
def test_kinds_are_mapped(
    home: str, kind: str, resource: str, namespaced: bool, doubt: str
) -> None:
    assert mapped(home, kind) == (resource, namespaced, doubt)


def test_every_kind_of_kubernetes_is_known() -> None:
    table = (key.split("/") for key in builtin_table().kinds)
    kinds = {(f"{group}/{version}".removeprefix("/"), kind) for group, version, kind in table}
    lint = known_resources([])
    for home, kind in kinds | BUILTIN_KINDS.keys():
        found = MAPPER.of(home, kind)
        assert not found.doubt, (home, kind)
        assert MAPPER.namespaced(found.group, found.resource) is found.namespaced
        assert lint[found.group, found.resource].namespaced is found.namespaced
        assert BUILTIN_KINDS.get((home, kind), found.namespaced) is found.namespaced


def test_resources_are_found_by_name() -> None:
    assert [each.gvr for each in MAPPER.named("deployments")] == [
        {"group": "apps", "version": "v1", "resource": "deployments"}
    ]
    assert [each.group for each in MAPPER.named("events")] == ["events.k8s.io", ""]
    assert [each.version for each in MAPPER.named("boxen")] == ["v1"]
    assert MAPPER.named("boxes") == []


# Who else may derive a plural from a kind, or look up the scope of one: of built-in kinds only.
BUILT_IN_ONLY = {
    "policyd/cluster/params.py",
    "policyd/controllers/events/denials.py",
    "policyd/export/mutating/part.py",
    "policyd/export/policy_views.py",
    "policyd/placement/choosing.py",
    "policyd/policy/compile/params.py",
    "policyd/policy/lint/document_advice.py",
    "policyd/policy/lint/guards/cases.py",
    "policyd/policy/lint/matching/named_kinds.py",
    "policyd/policy/lint/types/kinds.py",
    "policyd/webhooks/needs/targets.py",
}
TABLES = {f"policyd/policy/kinds/{name}.py" for name in ("mapping", "object_types", "served")}
# Importers write the rules of policies, whose kinds need not exist.
ELSEWHERE = ("policyd/importers/",)


def uses(path: str) -> bool:
    tree = ast.parse(Path(ROOT, path).read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("policyd.policy.kinds.")
        and {each.name for each in node.names} & {"plural", "BUILTIN_KINDS", "OTHER_SCOPES"}
        for node in ast.walk(tree)
    )


def test_nothing_else_derives_a_resource_from_a_kind() -> None:
    found = {
        each
        for each in files("policyd")
        if each.endswith(".py") and not each.startswith(ELSEWHERE) and uses(each)
    }
    assert found == BUILT_IN_ONLY | TABLES

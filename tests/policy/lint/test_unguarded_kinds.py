"""Fields that may be missing or null: of subresources, of any kind, lists without omitempty."""

import json
from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.mutation.schemas.tables import read_table
from policyd.policy.kinds.object_types import go_fields
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from policyd.versions import NEWEST
from tests.builders.policies import conditions, policy, rule, variables
from tests.policy.lint.unguarded_advice import NULL, told
from tests.policy_sets import loaded


def of(resource: str, group: str = "", *operations: str) -> JSONObject:
    return rule(resource, group=group, operations=operations or ["UPDATE", "CREATE", "CONNECT"])


SUBRESOURCES: list[tuple[str, JSONObject, list[str]]] = [
    ("object.spec.replicas > 1", of("deployments/scale", "apps"), ["object.spec.replicas may be missing"]),
    ("object.spec.replicas > oldObject.spec.replicas", of("*/scale", "*"), [
        "object.spec.replicas may be missing", "oldObject.spec.replicas may be missing"]),
    ("object.spec.?replicas.orValue(0) > 1 && object.kind == 'Scale'", of("*/scale", "*"), []),
    ("object.status.selector != ''", of("gadgets/scale", "example.com"), ["object.status.selector may be missing"]),
    ("object.spec.ephemeralContainers.all(c, c.image != '')", of("pods/ephemeralcontainers"), [
        "object.spec.ephemeralContainers may be missing"]),
    ("object.tty || object.container == ''", of("pods/exec"), [
        "object.tty may be missing", "object.container may be missing"]),
    ("object.command[0] == 'sh' && request.subResource == 'exec'", of("pods/exec"), []),
    ("object.ports[0] == 80", of("pods/portforward"), ["object.ports may be missing"]),
    ("object.path == '/'", of("nodes/proxy"), ["object.path may be missing"]),
    ("request.namespace == ''", of("nodes/proxy"), ["request.namespace may be missing"]),
    ("request.namespace == '' && namespaceObject.metadata.name == ''", of("pods/proxy"), []),
    ("object.deleteOptions.gracePeriodSeconds == 0", of("pods/eviction"), [
        "object.deleteOptions may be missing", "object.deleteOptions.gracePeriodSeconds may be missing"]),
    ("object.target.name == ''", of("pods/binding"), ["object.target.name may be missing"]),
    ("object.status.phase == 'x'", of("pods/status"), ["object.status.phase may be missing"]),
    # The table of subresources has the only operation.
    ("oldObject.metadata.name == ''", of("pods/status"), []),
    ("oldObject.metadata.name == ''", of("*/status", "*"), []),
    ("oldObject.metadata.name == ''", of("pods/exec"), ["oldObject is null on CONNECT, so every CONNECT request errors"]),
    ("oldObject.metadata.name == ''", of("pods/binding"), ["oldObject is null on CREATE, so every CREATE request errors"]),
    ("oldObject.metadata.name == ''", of("pods/eviction", "", "UPDATE"), []),
    # Every kind has the same metadata.
    ("object.metadata.labels.a == 'b'", of("*", "*", "CREATE", "UPDATE"), [
        "object.metadata.labels may be missing", "object.metadata.labels['a'] may be missing"]),
    ("object.metadata.annotations.size() > 0", of("*/*", "*"), ["object.metadata.annotations may be missing"]),
    ("object.metadata.name != '' && object.spec.x.y == 'z'", of("*", "*"), []),
    ("object.metadata.?labels.orValue({}).size() > 0", of("*", "*"), []),
    ("object.metadata.ownerReferences.size() > 0", of("unknowns", "a.b"), ["object.metadata.ownerReferences may be missing"]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "match", "expected"), SUBRESOURCES)
def test_subresources_and_the_metadata_of_any_kind(
    expression: str, match: JSONObject, expected: list[str]
) -> None:
    assert told(expression, match) == expected


ROLES = rule("clusterroles", "roles", group="rbac.authorization.k8s.io")
LISTS: list[tuple[str, list[str]]] = [
    ("object.rules.all(r, r.verbs != [])", ["object.rules may be null"]),
    ("object.rules.size() == 0", ["object.rules may be null"]),
    ("size(object.rules) == 0", ["object.rules may be null"]),
    ("object.rules[0].verbs == []", ["object.rules may be null"]),
    ("'x' in object.rules.map(r, r.verbs)", ["object.rules may be null"]),
    ("(object.rules + oldObject.rules).size() > 0 || oldObject == null", [
        "object.rules may be null", "oldObject.rules may be null"]),
    ("object.?rules.orValue([]).all(r, r.verbs != [])", ["object.?rules.orValue([]) may be null"]),
    ("has(object.rules) && object.rules.all(r, r.verbs != [])", ["object.rules may be null"]),
    ("(has(object.rules) ? object.rules : []).all(r, r.verbs != [])", ["object.rules may be null"]),
    ("variables.rules.all(r, r.verbs != [])", ["variables.rules may be null"]),
    ("object.rules == null && object.rules.size() > 0", ["object.rules may be null"]),
    ("object.rules == []", []),
    ("dyn(object.rules) != null && type(object.rules) == list", []),
    ("object.rules == null || object.rules.all(r, r.verbs != [])", []),
    ("object.rules != null && object.rules.all(r, r.verbs != [])", []),
    ("null != object.rules ? object.rules.size() > 0 : true", []),
    ("(object.rules == null ? [] : object.rules).all(r, r.verbs != [])", []),
    ("object.?rules.orValue(null) != null && object.rules.size() > 0", []),
    ("object.?rules.orValue([]) == null || object.?rules.orValue([]).all(r, r.verbs != [])", []),
    ("variables.rules == null || variables.rules.all(r, r.verbs != [])", []),
    ("!has(object.rules) || object.rules == oldObject.rules || oldObject == null", []),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), LISTS)
def test_lists_that_may_be_null(expression: str, expected: list[str]) -> None:
    fields = {"variables": variables(rules="object.rules")} if "variables" in expression else {}
    guarded = conditions("request.operation == 'UPDATE'")
    assert told(expression, ROLES, matchConditions=guarded, **fields) == expected


SLICES = rule("endpointslices", group="discovery.k8s.io")
ENDPOINTS = "object.endpoints == null || object.endpoints.all(e, e.addresses.size() > 0)"


@pytest.mark.parametrize(
    ("expression", "match", "expected"),
    [
        (ENDPOINTS, SLICES, []),
        ("object.ports.exists(p, p.port == 80)", SLICES, [
            "object.ports may be null", "p.port may be missing"]),
        ("object.spec.volumes.all(v, !has(v.projected) || v.projected.sources.size() > 1)", rule(), [
            "object.spec.volumes may be missing", "v.projected.sources may be null"]),
        ("object.spec.?volumes.orValue([]).all(v, !has(v.projected) || v.projected.sources == null || "
         "v.projected.sources.size() > 1)", rule(), []),
        ("object.spec.containers.size() > 1", rule(), []),
        ("timestamp(object.eventTime) > timestamp(0)", rule("events"), ["object.eventTime may be null"]),
        ("object.spec.dataSource.apiGroup.startsWith('x')", rule("persistentvolumeclaims"), [
            "object.spec.dataSource may be missing", "object.spec.dataSource.apiGroup may be null"]),
        ("has(object.spec.dataSource) && object.spec.dataSource.apiGroup == 'x'", rule("persistentvolumeclaims"), []),
    ],
)  # fmt: skip
def test_other_fields_that_may_be_null(
    expression: str, match: JSONObject, expected: list[str]
) -> None:
    assert told(expression, match) == expected


def test_what_may_be_null_is_printed() -> None:
    """The API server prints null for a nil slice or pointer without omitempty, and for no time."""
    printed = set()
    for line in read_table(NEWEST)[1].values():
        schema = json.loads(line)["schema"]
        for field, member in schema.get("properties", {}).items():
            nil = (member.get("type") == "array" or member.get("pointer")) and "omit" not in member
            time = member.get("go") in ("v1.Time", "v1.MicroTime") and not member.get("pointer")
            if nil or time:
                printed.add((schema.get("go"), field))
    assert {
        (go, field) for go, fields in go_fields("nullable").items() for field in fields
    } <= printed


OLD = "oldObject.metadata.name != 'x'"
ONLY = "write object: only UPDATE and DELETE have an oldObject"
HINTS = [
    ("object.metadata.name != 'x'", ["DELETE"], "write oldObject, which is the object that is deleted"),
    ("object.metadata.name != 'x'", ["*"], "write request.operation != 'DELETE' && …, or use oldObject"),
    (OLD, ["CREATE"], ONLY),
    (OLD, ["CREATE", "CONNECT"], ONLY),
    (OLD, ["CREATE", "UPDATE"], "write oldObject == null || …, or add matchCondition request.operation == 'UPDATE'"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "operations", "hint"), HINTS)
@pytest.mark.parametrize("controllers", [True, False])
def test_hints_about_objects_that_are_null(
    expression: str, operations: list[str], hint: str, controllers: bool
) -> None:
    """With podControllers too: a DELETE is that of a Pod."""
    validations: Any = [{"expression": expression}]
    document = policy(
        "p", rule(operations=operations), validations=validations, podControllers=controllers
    )
    found = [
        each for each in in_policies(LintRun(loaded(document)), unguarded) if each.rule == NULL
    ]
    assert [each.hint for each in found] == [hint]

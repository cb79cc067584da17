"""Advice on mutations that do not fit the schemas of the kinds that the rules name."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import type_check
from tests.builders.objects import gadget_definition
from tests.builders.policies import DEPLOYMENTS, GADGETS, PODS, map_, policy, rule
from tests.policy_sets import loaded


def advice(text: str, *rules: JSONObject) -> list[str]:
    apply = text.startswith("Object")
    kind = "ApplyConfiguration" if apply else "JSONPatch"
    mutation = {
        "patchType": kind,
        "applyConfiguration" if apply else "jsonPatch": {
            "expression": text if apply else f"[{text}]"
        },
    }
    constraints = {"resourceRules": list(rules or (PODS,))}
    found = []
    for build in (policy, map_):
        document = build("a", matchConstraints=constraints, mutations=[mutation])
        told = type_check(LintRun(loaded(document, gadget_definition())))
        assert all(each.rule == "type-check" and each.severity == "advice" for each in told)
        assert all(each.line > 0 and "^" in each.excerpt for each in told)
        found.append([each.message for each in told])
    assert found[0] == found[1]
    return [message.partition("ERROR: <input>:")[2].partition(": ")[2] for message in found[0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Object{spec: Object.spec{containerz: []}}",
            "undefined field 'containerz' of Object.spec",
        ),
        ("Object{spek: Object.spek{x: 1}}", "undefined field 'spek' of Object"),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, "
            "Object.spec.containers{name: c.name, imaje: 'x'})}}",
            "undefined field 'imaje' of Object.spec.containers",
        ),
        ("Object{spec: Object.spec{hostNetwork: 'yes'}}", "'hostNetwork' of Object.spec must be a bool"),
        ("Object{spec: Object.spec{priority: '1'}}", "'priority' of Object.spec must be a number"),
        ("Object{spec: Object.spec{hostname: ['x']}}", "'hostname' of Object.spec must be a string"),
        (
            "Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}",
            "ApplyConfiguration cannot change 'nodeSelector' of Object.spec, which is atomic; "
            "use JSONPatch or Overlay",
        ),
        ("Object{spec: Object.spec{hostname: object.spec.hostnam}}", "undefined field 'hostnam'"),
        ("JSONPatch{op: 'add', path: '/spec/containerz', value: 1}", "undefined field 'containerz' of /spec"),
        (
            "JSONPatch{op: 'add', path: '/spec/containers/0/imaje', value: 'x'}",
            "undefined field 'imaje' of /spec/containers/0",
        ),
        ("JSONPatch{op: 'remove', path: '/speck'}", "undefined field 'speck' of the object"),
        ("JSONPatch{op: 'copy', from: '/spec/x', path: '/spec/hostname'}", "undefined field 'x' of /spec"),
        (
            "JSONPatch{op: 'add', path: '/spec/hostname/x', value: 'x'}",
            "/spec/hostname has no 'x': it is a string",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_pod(text: str, message: str) -> None:
    assert advice(text) == [message]


@pytest.mark.parametrize(
    "text",
    [
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}, kind: 'Pod'}",
        "Object{spec: Object.spec{priority: 1, hostNetwork: true, hostname: request.name}}",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'x', "
        "ports: [Object.spec.containers.ports{containerPort: 80}]}]}}",
        "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'x'}",
        "JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'x'}}",
        "JSONPatch{op: 'add', path: '/spec/' + request.name, value: {'name': 'x'}}",
        "JSONPatch{op: 'add', path: '/spec/containers/0/resources/limits/cpu', value: '1'}",
        "JSONPatch{op: 'replace', path: '', value: object}",
        "JSONPatch{op: 'add', path: '/spec/nodeSelector', value: Object.spec.nodeSelector{a: 'b'}}",
        "JSONPatch{op: 'add', path: '/spec/containers/0/livenessProbe/httpGet/port', value: 80}",
    ],
)
def test_what_fits_a_pod(text: str) -> None:
    assert advice(text) == []


def test_custom_resources() -> None:
    assert advice("Object{spec: Object.spec{size: 'x'}}", GADGETS) == [
        "'size' of Object.spec must be a number"
    ]
    for text in (
        "Object{spec: Object.spec{port: 'http', open: Object.spec.open{other: 1}}}",
        "JSONPatch{op: 'add', path: '/spec/open/any/thing', value: 1}",
        "JSONPatch{op: 'add', path: '/spec/template/spec', value: {}}",
    ):
        assert advice(text, GADGETS)[1:] == []


def test_a_field_of_one_kind_only_is_none_of_the_others() -> None:
    text = "Object{spec: Object.spec{replicas: 1}}"
    assert advice(text, DEPLOYMENTS) == []
    assert advice(text, PODS, DEPLOYMENTS) == ["undefined field 'replicas' of Object.spec"]
    guarded = "Object{spec: has(object.spec.replicas) ? Object.spec{replicas: 1} : Object.spec{}}"
    assert advice(guarded, PODS, DEPLOYMENTS) == []


def test_rules_with_wildcards_name_no_kind() -> None:
    assert advice("Object{spek: Object.spek{}}", rule(resources=["*"])) == []

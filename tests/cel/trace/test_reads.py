"""Which field of the object the value of an expression is about."""

from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd._core.eval.tracing import Tracer
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.trace.building import TreeBuilder
from policyd.cel.trace.reads import ObjectFields
from policyd.cel.trace.tracing import plan_traced
from policyd.json_types import FieldPath
from tests.cel.variables import with_variables

CONTAINERS = [
    {"name": "web", "image": "x/web:1", "args": ["-a", "-b"], "securityContext": {"user": 5}},
    {"name": "log", "image": "y/log", "ports": [{"port": 1}, {"port": 99}]},
]
OBJECT: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web", "a.io/x": "y"}, "finalizers": ["f", "g"]},
    "spec": {
        "containers": CONTAINERS,
        "initContainers": [{"name": "init", "image": "z/init", "args": []}],
        "replicas": 3,
        "host": True,
        "securityContext": {"user": 0},
    },
}
OLD = {"spec": {"replicas": 2, "containers": [{"name": "gone"}]}}
VARIABLES = {
    "all": "object.spec.containers + object.spec.?initContainers.orValue([])",
    "first": "variables.all[0]",
    "image": "variables.first.image",
    "names": "object.spec.containers.map(c, c.name)",
    "bad": "variables.all.filter(c, !c.image.startsWith('x/'))",
    "team": "object.metadata.?labels[?'team'].orValue('')",
    "user": "'nobody'",
}
SPEC, LABELS = ("spec",), ("metadata", "labels")
FIRST, SECOND = ("spec", "containers", 0), ("spec", "containers", 1)
ROWS: list[tuple[str, FieldPath]] = [
    # One field, which may be missing.
    ("object.spec.replicas > 3", ("spec", "replicas")),
    ("object.spec.containers[1].image == 'x'", (*SECOND, "image")),
    ("object.spec.containers[object.spec.replicas - 2].image == 'x'", SPEC),
    ("object.metadata.labels['a.io/x'] == 'x'", (*LABELS, "a.io/x")),
    ("object.metadata.labels['a.io' + '/x'] == 'x'", (*LABELS, "a.io/x")),
    ("has(object.spec.nodeName)", ("spec", "nodeName")),
    ("object.?spec.?nodeName.hasValue()", ("spec", "nodeName")),
    ("object.spec.?nodeName.orValue('') == 'a'", ("spec", "nodeName")),
    ("object.?status.?phase.orValue('') == 'a'", ("status", "phase")),
    ("object.?status.orValue({}).?phase.orValue('') == 'a'", ("status", "phase")),
    ("'team' in object.metadata.labels", (*LABELS, "team")),
    ("'team' in object.metadata.?annotations.orValue({})", ("metadata", "annotations", "team")),
    ("object.spec.containers[0].args.size() > 5", (*FIRST, "args")),
    ("quantity(string(object.spec.replicas)).isGreaterThan(quantity('9'))", ("spec", "replicas")),
    ("object.spec.containers[0].image.split('/')[0] == 'y'", (*FIRST, "image")),
    ("!object.spec.host", ("spec", "host")),
    # Errors: the field that is missing, or of the wrong type.
    ("object.spec.nodeName == 'a'", ("spec", "nodeName")),
    ("object.status.phase == 'a'", ("status", "phase")),
    ("object.spec.replicas > 1 && object.status.phase == 'a'", ("status", "phase")),
    ("object.spec.containers[5].image == 'a'", ("spec", "containers", 5, "image")),
    ("object.status.list[1 + object.spec.replicas] == 1", ("status", "list")),
    ("object.spec.containers[int(object.metadata.name)].image == ''", ("metadata", "name")),
    ("int(object.metadata.name) > 1", ("metadata", "name")),
    ("object.spec.containers.all(c, has(c.image) && c.ports.size() > 1)", (*FIRST, "ports")),
    # The term that decides.
    ("has(object.spec.host) && object.spec.replicas == 2", ("spec", "replicas")),
    ("object.kind == 'Pod' && has(object.spec.a) && object.spec.a.b == 1", ("spec", "a")),
    ("!(object.spec.host || object.spec.replicas == 9)", ("spec", "host")),
    # No term decides alone: what they have in common. A test of presence only guards.
    ("!has(object.spec.host) || !object.spec.host", ("spec", "host")),
    (
        "!has(object.spec.securityContext) || object.spec.securityContext.user > 0",
        ("spec", "securityContext", "user"),
    ),
    ("!(has(object.spec.host) && object.spec.host)", ("spec", "host")),
    ("!('app' in object.metadata.labels) || object.metadata.labels.app == 'x'", (*LABELS, "app")),
    ("object.kind != 'Pod' || object.spec.replicas == 2", ()),
    ("object.spec.replicas < 2 || object.spec.containers.size() > 5", SPEC),
    ("has(object.spec.x.a) || has(object.spec.x.b)", ("spec", "x", "a")),
    ("object.?spec.?x.?a.hasValue() || object.?spec.?x.?b.hasValue()", SPEC),
    ("object.spec.containers[0].image == object.metadata.name", ()),
    ("object.spec.containers[0].image == object.spec.containers[1].image", ("spec", "containers")),
    # The branch that was taken.
    (
        "has(object.spec.containers[0].securityContext.user)"
        " ? object.spec.containers[0].securityContext.user == 0 : object.spec.host",
        (*FIRST, "securityContext", "user"),
    ),
    ("object.spec.host ? false : object.spec.replicas > 1", ("spec", "host")),
    ("object.?spec.?replicas.optMap(r, r > 5).orValue(false)", ("spec", "replicas")),
    ("object.?spec.optMap(s, s.replicas > 5).orValue(false)", ("spec", "replicas")),
    ("object.?status.optMap(s, s.replicas > 5).orValue(false)", ("status",)),
    # Macros: the first item for which it failed.
    ("object.spec.containers.all(c, c.image.startsWith('x/'))", (*SECOND, "image")),
    ("!object.spec.containers.exists(c, c.image.startsWith('y/'))", (*SECOND, "image")),
    ("object.spec.containers.all(c, has(c.image) && has(c.args))", (*SECOND, "args")),
    ("object.spec.containers.all(c, c.?ports.orValue([]).all(p, p.port < 9))",
     (*SECOND, "ports", 1, "port")),
    ("object.spec.containers.all(c, c.?args.orValue([]).all(a, a != '-b'))", (*FIRST, "args", 1)),
    ("object.metadata.finalizers.all(f, f == 'f')", ("metadata", "finalizers", 1)),
    ("object.metadata.finalizers.all(i, f, i == 0)", ("metadata", "finalizers", 1)),
    ("object.metadata.labels.all(k, k == 'app')", (*LABELS, "a.io/x")),
    ("object.metadata.labels.all(k, v, v == 'web')", (*LABELS, "a.io/x")),
    ("object.metadata.labels.all(k, object.metadata.labels[k] == 'web')", (*LABELS, "a.io/x")),
    ("['app', 'team'].all(k, k in object.metadata.labels)", LABELS),
    ("['app', 'team'].all(k, has(object.metadata.labels.app) && k != 'team')", ()),
    ("object.metadata.finalizers.all(f, f != object.metadata.name + 'x' && f == 'f')",
     ("metadata", "finalizers", 1)),
    ("object.metadata.finalizers.all(f, f == object.metadata.name)", ("metadata",)),
    ("object.spec.containers.map(c, c.image).all(i, i == object.metadata.name)", ()),
    # None of the items is at fault alone.
    ("object.spec.containers.exists(c, c.name == 'proxy')", ("spec", "containers")),
    ("object.spec.containers.exists_one(c, c.image.startsWith('q/'))", ("spec", "containers")),
    ("object.spec.containers.map(c, c.name).exists(n, n == 'x')", ("spec", "containers")),
    ("object.metadata.finalizers.sortBy(f, f)[0] == 'x'", ("metadata", "finalizers")),
    # A list that a condition filled: the first item for which it holds.
    ("object.spec.containers.filter(c, !c.image.startsWith('x/')).size() == 0", (*SECOND, "image")),
    ("size(object.spec.containers.filter(c, c.name == 'log')) < 1", (*SECOND, "name")),
    ("object.spec.containers.filter(c, !has(c.args)) == []", (*SECOND, "args")),
    ("!(object.spec.containers.filter(c, !has(c.args)).size() > 0)", (*SECOND, "args")),
    ("object.spec.containers.map(c, !has(c.args), c.name).size() == 0", (*SECOND, "args")),
    ("object.metadata.finalizers.filter(f, f != 'f').size() == 0", ("metadata", "finalizers", 1)),
    ("object.spec.containers.filter(c, c.name == 'q').size() > 0", ("spec", "containers")),
    ("object.spec.containers.filter(c, c.name == 'web').size() == 2", ("spec", "containers")),
    ("object.spec.containers.map(c, c.name).size() == 0", ("spec", "containers")),
    ("object.spec.containers.size() == 0", ("spec", "containers")),
    ("(object.spec.containers.filter(c, c.name == 'q') + object.spec.initContainers.map(i,"
     " i.image != '', i.name)).size() == 0", ("spec", "initContainers", 0, "image")),
    ("(object.spec.containers + object.spec.initContainers.filter(i, true)).size() == 0", SPEC),
    ("variables.bad.size() == 0", (*SECOND, "image")),
    ("variables.bad == []", (*SECOND, "image")),
    ("(object.spec.host ? variables.bad : []).size() == 0", (*SECOND, "image")),
    # Items of lists that an expression made: where they are in the object.
    ("(object.spec.containers + object.spec.initContainers).all(c, c.args.size() >= 0)",
     (*SECOND, "args")),
    ("(object.spec.initContainers + object.spec.containers).all(c, has(c.args))",
     (*SECOND, "args")),
    ("object.spec.containers.filter(c, c.name == 'log')[0].image == ''", (*SECOND, "image")),
    ("object.spec.containers.filter(c, c.name != 'web').all(c, c.image == '')",
     (*SECOND, "image")),
    ("dyn(object.spec).containers.all(c, has(c.args))", (*SECOND, "args")),
    # Variables, wherever they were computed.
    ("variables.all.all(c, has(c.args))", (*SECOND, "args")),
    ("variables.first.image == 'x'", (*FIRST, "image")),
    ("variables.image == 'x'", (*FIRST, "image")),
    ("variables.names.exists(n, n == 'x')", ("spec", "containers")),
    ("variables.team == 'a'", (*LABELS, "team")),
    ("variables.team == variables.image", ()),
    ("variables.user == object.metadata.name", ("metadata", "name")),
    ("variables.bad.all(c, has(c.ports))", ("spec", "initContainers", 0, "ports")),
    # Nothing of the object, or all of it.
    ("variables.user == 'x'", ()),
    ("object == oldObject", ()),
    ("oldObject.spec.replicas == 3", ()),
    ("object.spec.replicas == oldObject.spec.replicas", ("spec", "replicas")),
    ("oldObject.spec.containers.all(o, object.spec.containers.exists(c, c.name == o.name))",
     ("spec", "containers")),
    ("[1].exists(object, object == 2)", ()),
    ("{'a': object.spec.replicas}.a == 1", ("spec", "replicas")),
    ("request.operation == 'DELETE'", ()),
    ("1 == 2", ()),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "field"), ROWS)
def test_the_field_that_a_false_value_or_an_error_is_about(
    expression: str, field: FieldPath
) -> None:
    tracer, layout = Tracer(), Layout()
    environment = Environment.admission()
    declared: dict[str, Program] = {}
    for name, text in VARIABLES.items():
        checked = with_variables(environment, declared).check(text)
        declared[name] = plan_traced(checked, layout, tracer, variable=name)
        layout.define(name, declared[name])
    checked = with_variables(environment, declared).check(expression)
    given = {"object": OBJECT, "oldObject": OLD, "request": {"operation": "CREATE"}}
    value, _ = plan_traced(checked, layout, tracer).evaluate_with_cost(given)
    assert value is False or isinstance(value, CelError)
    fields = ObjectFields("object", OBJECT)
    records = tracer.take()
    made = TreeBuilder(fields, records).steps(records[0])
    assert fields.about(made.root.reads) == field


def test_an_object_at_two_paths_is_at_neither() -> None:
    inner: dict[str, Any] = {"c": {}}
    shared = {"b": inner}
    fields = ObjectFields("object", {"x": shared, "y": [shared, {"z": {}}]})
    known = [fields.path_of(each) for each in (shared, inner, inner["c"])]
    assert known == [None, None, None]
    assert fields.path_of(fields.root["y"][1]["z"]) == ("y", 1, "z")
    assert fields.path_of("x") is None


def test_sharing_does_not_multiply() -> None:
    """Each level holds the next one twice: 2^60 paths."""
    value: Any = {}
    for _ in range(60):
        value = {"a": value, "b": value}
    assert ObjectFields("object", value).path_of(value) == ()

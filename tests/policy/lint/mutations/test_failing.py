"""Mutations that load, and then fail for each request, or for some."""

import pytest

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.mutations.failing import failing
from policyd.policy.lint.run import LintRun
from tests.builders.objects import gadget_definition
from tests.builders.policies import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVERYTHING,
    GADGETS,
    PODS,
    apply_configuration,
    json_patch,
    map_,
    policy,
    rule,
)
from tests.policy_sets import loaded

ERROR, ADVICE = ("failing-mutation", "error"), ("fragile-mutation", "advice")


def found(text: str, *rules: JSONObject, **spec: object) -> list[Problem]:
    """What is wrong with one mutation, the same for both kinds of policies."""
    mutation = apply_configuration(text) if merges(text) else json_patch(text)
    each = []
    for build in (policy, map_):
        document = build("a", *rules, mutations=[mutation], **spec)
        sources = loaded(document, gadget_definition())
        assert sources.problems == ()
        each.append(list(in_policies(LintRun(sources), failing)))
    for problem in each[0]:
        assert (problem.rule, problem.severity) in (ERROR, ADVICE)
        assert problem.line > 0
        assert "^" in problem.excerpt
    assert [problem.message for problem in each[0]] == [problem.message for problem in each[1]]
    return each[0]


def merges(text: str) -> bool:
    return "Object{" in text and "JSONPatch{" not in text


def errors(text: str, *rules: JSONObject) -> list[tuple[str, str]]:
    problems = found(text, *rules)
    assert all(problem.severity == "error" for problem in problems), problems
    return [(problem.message, problem.hint) for problem in problems]


def advice(text: str, *rules: JSONObject) -> list[tuple[str, str]]:
    problems = found(text, *rules)
    assert all(problem.severity == "advice" for problem in problems), problems
    return [(problem.message, problem.hint) for problem in problems]


def spec(fields: str) -> str:
    return f"Object{{spec: Object.spec{{{fields}}}}}"


UNTOUCHABLE = "an ApplyConfiguration cannot change {}: atomic values can only be replaced"
ATOMIC_HINT = "write a JSONPatch, or in a Policy an Overlay"
# (the expression, what is said, a part of the hint, the expression that is right)
OBJECTS = [
    ("Object{spec: Object.specs{hostname: 'x'}}", "type Object.specs does not match its field: expected Object.spec",
     "write Object.spec{…}", "Object{spec: Object.spec{hostname: 'x'}}"),
    (spec("containers: object.spec.containers.map(c, Object.spec.container{name: c.name})"),
     "type Object.spec.container does not match its field: expected Object.spec.containers",
     "write Object.spec.containers{…}", spec("containers: object.spec.containers.map(c, Object.spec.containers{name: c.name})")),
    ("has(object.spec.nodeName) ? Object{} : Object{spec: Object.spek{}}",
     "type Object.spek does not match its field: expected Object.spec", "write Object.spec{…}",
     "has(object.spec.nodeName) ? Object{} : Object{spec: Object.spec{}}"),
    (spec("containerz: []"), "spec has no field 'containerz'", "did you mean containers?", spec("containers: []")),
    ("Object{spek: Object.spek{}}", "the object has no field 'spek'", "did you mean spec?", "Object{spec: Object.spec{}}"),
    (spec("containers: [Object.spec.containers{name: 'x', imaje: 'y'}]"), "spec.containers has no field 'imaje'",
     "did you mean image?", spec("containers: [Object.spec.containers{name: 'x', image: 'y'}]")),
    (spec("?hostnam: optional.of('x')"), "spec has no field 'hostnam'", "did you mean hostname?", spec("?hostname: optional.of('x')")),
    (spec("hostNetwork: 'yes'"), 'spec.hostNetwork: expected true or false, got "yes"', "without quotes", spec("hostNetwork: true")),
    (spec("priority: '1'"), 'spec.priority: expected a number, got "1"', "without quotes", spec("priority: 1")),
    (spec("priority: object.metadata.name"), "spec.priority: expected a number, got a value of type string",
     "write int(…)", spec("priority: int(object.metadata.name)")),
    (spec("priority: 1.5"), "spec.priority: expected a number, got 1.5", "whole number", spec("priority: 1.0")),
    (spec("hostname: size(object.spec.containers)"), "spec.hostname: expected a string, got a value of type int",
     "write string(…)", spec("hostname: string(size(object.spec.containers))")),
    (spec("hostname: ['x']"), "spec.hostname: expected a string, got a list", "", spec("hostname: 'x'")),
    (spec("containers: Object.spec.containers{name: 'x'}"), "spec.containers: expected a list, got a map", "[ … ]",
     spec("containers: [Object.spec.containers{name: 'x'}]")),
    ("Object{metadata: Object.metadata{labels: {'a': 1}}}", "metadata.labels.a: expected a string, got 1", "in quotes",
     "Object{metadata: Object.metadata{labels: {'a': '1'}}}"),
    ("Object{metadata: Object.metadata{labels: object.spec.containers.transformMap(i, c, i)}}",
     "metadata.labels: expected a map, got a value of type map(int, int)", "",
     "Object{metadata: Object.metadata{labels: object.metadata.?labels.orValue({}).transformMap(k, v, k)}}"),
    (spec("nodeSelector: {'a': 'b'}"), UNTOUCHABLE.format("spec.nodeSelector"), ATOMIC_HINT, "Object{}"),
    (spec("tolerations: [Object.spec.tolerations{operator: 'Exists'}]"), UNTOUCHABLE.format("spec.tolerations"), ATOMIC_HINT, "Object{}"),
    (spec("tolerations: object.spec.tolerations"), UNTOUCHABLE.format("spec.tolerations"), ATOMIC_HINT, "Object{}"),
    (spec("imagePullSecrets: [Object.spec.imagePullSecrets{name: 'x'}]"), UNTOUCHABLE.format("items of spec.imagePullSecrets"), ATOMIC_HINT, "Object{}"),
    (spec("containers: [Object.spec.containers{name: 'x', args: ['-v']}]"), UNTOUCHABLE.format("spec.containers.args"), ATOMIC_HINT, "Object{}"),
    (spec("containers: [Object.spec.containers{image: 'x'}]"), "an item of spec.containers needs its name: the list is merged by it",
     "add name to the item; for all items write object.spec.containers.map(x, Object.spec.containers{name: x.name, …})", spec("containers: [Object.spec.containers{name: 'x', image: 'x'}]")),
    (spec("containers: [{'name': 'x'}]"), "an ApplyConfiguration cannot write a map literal into spec.containers",
     "write Object.spec.containers{…}", spec("containers: [Object.spec.containers{name: 'x'}]")),
    (spec("hostname: null"), "an ApplyConfiguration cannot set spec.hostname to null, or remove it", "op: 'remove'", "Object{}"),
    (spec("priority: 1u"), "spec.priority is a uint, which cannot be written to an object", "write int(…)", spec("priority: 1")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint", "right"), OBJECTS)
def test_objects(text: str, message: str, hint: str, right: str) -> None:
    ((told, remedy),) = errors(text)
    assert told == message
    assert hint in remedy
    assert found(right) == []


OPERATIONS = [
    ("[JSONPatch{op: 'Add', path: '/metadata/labels', value: {}}]", "there is no op 'Add'", "write 'add'",
     "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]"),
    ("[JSONPatch{op: 'delete', path: '/spec/hostname'}]", "there is no op 'delete'", "write 'remove'",
     "[JSONPatch{op: 'remove', path: '/spec/hostname'}]"),
    ("[JSONPatch{op: has(object.spec.hostname) ? 'update' : 'add', path: '/spec/hostname', value: 'x'}]",
     "there is no op 'update'", "write 'replace'",
     "[JSONPatch{op: has(object.spec.hostname) ? 'replace' : 'add', path: '/spec/hostname', value: 'x'}]"),
    ("[JSONPatch{op: 'merge', path: '/spec/hostname', value: 'x'}]", "there is no op 'merge'",
     "write add, remove, replace, move, copy or test", "[JSONPatch{op: 'test', path: '/spec/hostname', value: 'x'}]"),
    ("[JSONPatch{path: '/spec/hostname', value: 'x'}]", "a JSONPatch needs an op", "write add", "[]"),
    ("[JSONPatch{op: 'add', value: 'x'}]", "a JSONPatch needs a path", "write path: '/…'", "[]"),
    ("[JSONPatch{op: 'add', path: '', value: object}]", "the path is empty", "write path", "[JSONPatch{op: 'replace', path: '', value: object}]"),
    ("[JSONPatch{op: 'move', path: '/spec/hostname'}]", "move needs a from", "write from: '/…'",
     "[JSONPatch{op: 'move', path: '/spec/hostname', from: '/spec/nodeName'}]"),
    ("[JSONPatch{op: 'add', path: 'metadata/annotations', value: {}}]",
     "the path 'metadata/annotations' does not begin with a slash, so its first part is dropped",
     "write '/metadata/annotations'", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]"),
    ("[JSONPatch{op: 'add', path: 'metadata', value: {}}]",
     "the path 'metadata' does not begin with a slash, so its first part is dropped", "write '/metadata'", "[]"),
    ("[JSONPatch{op: 'add', path: '/metadata/labels/app.kubernetes.io/name', value: 'x'}]",
     "the slash in the key 'app.kubernetes.io/name' of /metadata/labels is not escaped",
     "write '/metadata/labels/app.kubernetes.io~1name', or '/metadata/labels/' + jsonpatch.escapeKey('app.kubernetes.io/name')",
     "[JSONPatch{op: 'add', path: '/metadata/labels/app.kubernetes.io~1name', value: 'x'}]"),
    ("[JSONPatch{op: 'add', path: '/metadata/labels/example.com/' + object.metadata.name, value: 'x'}]",
     "the slash in the key 'example.com/…' of /metadata/labels is not escaped", "'/metadata/labels/' + jsonpatch.escapeKey(the whole key)",
     "[JSONPatch{op: 'add', path: '/metadata/labels/example.com~1' + object.metadata.name, value: 'x'}]"),
    ("[JSONPatch{op: 'add', path: '/spec/containerz', value: []}]", "/spec has no field 'containerz'", "did you mean containers?",
     "[JSONPatch{op: 'add', path: '/spec/containers', value: []}]"),
    ("[JSONPatch{op: 'copy', path: '/spec/hostname', from: '/spec/nodename'}]", "/spec has no field 'nodename'", "did you mean nodeName?",
     "[JSONPatch{op: 'copy', path: '/spec/hostname', from: '/spec/nodeName'}]"),
    ("object.spec.containers.map(c, JSONPatch{op: 'add', path: '/spec/container/' + c.name, value: 'x'})",
     "/spec has no field 'container'", "did you mean containers?", "[]"),
    ("lists.range(2).map(i, JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/imaje', value: 'x'})",
     "/spec/containers/… has no field 'imaje'", "did you mean image?",
     "lists.range(2).map(i, JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/image', value: 'x'})"),
    ("[JSONPatch{op: 'add', path: '/spec/hostname/x', value: 'x'}]", "/spec/hostname has no 'x': it is a string", "", "[]"),
    ("[JSONPatch{op: 'add', path: '/spec/containers/app/image', value: 'x'}]", "'app' is not an index of the list /spec/containers",
     "string(i)", "[JSONPatch{op: 'add', path: '/spec/containers/0/image', value: 'x'}]"),
    ("[JSONPatch{op: 'remove', path: '/spec/containers/-'}]",
     "'-' is the place after the last item of /spec/containers, where nothing is", "write an index", "[JSONPatch{op: 'remove', path: '/spec/containers/0'}]"),
    ("[JSONPatch{op: 'add', path: '/spec/containers/-/image', value: 'x'}]",
     "'-' is the place after the last item of /spec/containers, where nothing is", "only for adding an item",
     "[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'x', 'image': 'x'}}]"),
    ("[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'nmae': 'x'}}]", "/spec/containers/- has no field 'nmae'",
     "did you mean name?", "[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'x'}}]"),
    ("[JSONPatch{op: 'add', path: '/spec/volumes', value: [Object.spec.volumes{name: 1}]}]", "/spec/volumes/name: expected a string, got 1",
     "in quotes", "[JSONPatch{op: 'add', path: '/spec/volumes', value: [Object.spec.volumes{name: '1'}]}]"),
    ("[JSONPatch{op: 'add', path: '/spec/volumes/-', value: Object.x{name: 'x', emptyDir: Object.y{}}}]",
     "type Object.y does not match its field: expected Object.x.emptyDir", "write Object.x.emptyDir{…}",
     "[JSONPatch{op: 'add', path: '/spec/volumes/-', value: Object.x{name: 'x', emptyDir: Object.x.emptyDir{}}}]"),
    ("[JSONPatch{op: 'add', path: '/metadata/labels', value: ['a']}]", "/metadata/labels: expected a map, got a list", "",
     "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"),
    ("[JSONPatch{op: 'add', path: '/spec/hostNetwork', value: 'true'}]", '/spec/hostNetwork: expected true or false, got "true"',
     "without quotes", "[JSONPatch{op: 'add', path: '/spec/hostNetwork', value: true}]"),
    ("[JSONPatch{op: 'add', path: '/spec/containers/0/resources/limits/cpu', value: quantity('1')}]",
     "/spec/containers/0/resources/limits/cpu is a quantity, which cannot be written to an object", "write a string",
     "[JSONPatch{op: 'add', path: '/spec/containers/0/resources/limits/cpu', value: '1'}]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint", "right"), OPERATIONS)
def test_operations(text: str, message: str, hint: str, right: str) -> None:
    ((told, remedy),) = errors(text)
    assert told == message
    assert hint in remedy
    assert found(right) == []


FRAGILE = [
    ("[JSONPatch{op: 'add', path: '/spec/hostname'}]", "an operation without a value writes null", "add value"),
    ("[JSONPatch{op: 'add', path: '/metadata/labels/' + object.spec.nodeName, value: 'x'}]",
     "a key of /metadata/labels with a slash in it is not escaped", "write '/metadata/labels/' + jsonpatch.escapeKey(…)"),
    ("['a', 'b/c'].map(k, JSONPatch{op: 'add', path: '/metadata/labels/' + k, value: 'x'})",
     "a key of /metadata/labels with a slash in it is not escaped", "jsonpatch.escapeKey(…)"),
    ("[JSONPatch{op: 'add', path: '/metadata/labels/a~b~1c~0d', value: 'x'}]", "the ~ in the path '/metadata/labels/a~b~1c~0d' is not escaped",
     "write '/metadata/labels/a~0b~1c~0d'"),
    ("[JSONPatch{op: 'add', path: 'x/metadata/labels', value: {}}]",
     "the path 'x/metadata/labels' does not begin with a slash, so its first part is dropped", "write '/x/metadata/labels'"),
    (spec("nodeSelector: dyn(object).spec.x"), UNTOUCHABLE.format("spec.nodeSelector"), ATOMIC_HINT),
    (spec("containers: [Object.spec.containers{name: 'w*', stdin: true}]"),
     "name 'w*' has no wildcard: an item of this name is added",
     "for all items write object.spec.containers.map(x, Object.spec.containers{name: x.name, …})"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), FRAGILE)
def test_what_fails_for_some_objects_is_advice(text: str, message: str, hint: str) -> None:
    ((told, remedy),) = advice(text)
    assert told == message
    assert hint in remedy


@pytest.mark.parametrize(
    "text",
    [
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}, kind: 'Pod'}",
        spec("priority: 1, hostNetwork: true, hostname: request.name"),
        spec("containers: [Object.spec.containers{name: 'x', ports: [Object.spec.containers.ports{containerPort: 80}]}]"),
        spec("containers: object.spec.containers.map(c, has(c.image), Object.spec.containers{name: c.name})"
             " + [Object.spec.containers{name: 'x'}]"),
        spec("?containers: object.spec.?initContainers.optMap(l, l.map(c, Object.spec.containers{name: c.name}))"),
        spec("?terminationGracePeriodSeconds: object.spec.?priority"),
        "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'x'}",
        "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey(request.userInfo.username), value: 'x'}",
        "JSONPatch{op: 'add', path: '/metadata/labels/' + object.metadata.name, value: 'x'}",
        "JSONPatch{op: 'add', path: '/spec/' + request.name, value: {'name': 'x'}}",
        "JSONPatch{op: 'add', path: request.name + '/spec', value: {'name': 'x'}}",
        "JSONPatch{op: 'add', path: '/spec/nodeSelector', value: Object.spec.nodeSelector{a: 'b'}}",
        "JSONPatch{op: 'add', path: '/spec/containers/0/livenessProbe/httpGet/port', value: 80}",
        "JSONPatch{op: 'add', path: '/spec/containers/-1', value: {'name': 'x'}}",
        "JSONPatch{op: 'add', path: '/metadata/creationTimestamp', value: timestamp('2020-01-01T00:00:00Z')}",
        "JSONPatch{op: 'test', path: '/spec/hostname'}",
        "JSONPatch{op: JSONPatch{op: 'o'}.op == 'o' ? 'add' : 'test', path: '/spec/hostname', value: 'x'}",
    ],
)  # fmt: skip
def test_what_is_right(text: str) -> None:
    assert found(f"[{text}]" if text.startswith("JSONPatch") else text) == []


def test_keys_of_constants_need_no_escape() -> None:
    over = "['a', 'b'].map(k, JSONPatch{op: 'add', path: '/metadata/labels/' + k, value: 'x'})"
    assert found(over) == []
    variables = [{"name": "v", "expression": "{'a': object.metadata.name}"}]
    text = "variables.v.map(k, JSONPatch{op: 'add', path: '/metadata/labels/' + k, value: 'x'})"
    assert found(text, variables=variables) == []
    data = "object.data.map(k, JSONPatch{op: 'add', path: '/data/' + k, value: 'x'})"
    assert found(data, CONFIG_MAPS) == []


def test_custom_resources() -> None:
    ((told, _),) = errors("Object{spec: Object.spec{size: 'x'}}", GADGETS)
    assert told == 'spec.size: expected a number, got "x"'
    # The API server drops unknown fields of custom resources.
    ((told, _),) = advice("[JSONPatch{op: 'add', path: '/spec/sise', value: 1}]", GADGETS)
    assert told == "/spec has no field 'sise'"
    for text in (
        "Object{spec: Object.spec{port: 'http', open: Object.spec.open{other: 1}}}",
        "[JSONPatch{op: 'add', path: '/spec/open/any/thing', value: 1}]",
    ):
        assert found(text, GADGETS) == []


def test_a_mistake_for_some_kinds_is_advice() -> None:
    text = spec("replicas: 1")
    assert found(text, DEPLOYMENTS) == []
    ((told, _),) = advice(text, PODS, DEPLOYMENTS)
    assert told == "spec has no field 'replicas' (/v1, Kind=Pod)"
    guarded = f"has(object.spec.replicas) ? {text} : Object{{}}"
    assert found(f"Object{{}} == Object{{}} ? {guarded} : Object{{}}", PODS, DEPLOYMENTS) == []
    assert errors(spec("replicsa: 1"), PODS, DEPLOYMENTS)[0][0] == "spec has no field 'replicsa'"


def test_kinds_without_schema() -> None:
    """Rules with wildcards name no kind: what is wrong for every kind is an error nevertheless."""
    anything = rule(resources=["*"])
    assert found(spec("replicsa: 1"), anything) == []
    assert len(errors("Object{spec: Object.spek{}}", anything)) == 1
    assert len(errors("[JSONPatch{op: 'Add', path: '/x', value: 1}]", anything)) == 1
    assert (
        advice(spec("replicsa: 1"), PODS, rule("things", group="a.b"))[0][0]
        == "spec has no field 'replicsa'"
    )


SUBRESOURCES: list[tuple[str, JSONObject, tuple[str, str]]] = [
    ("[JSONPatch{op: 'add', path: '/spec/replcas', value: 1}]", rule("deployments/scale", group="apps"),
     ("/spec has no field 'replcas'", "did you mean replicas?")),
    ("[JSONPatch{op: 'add', path: '/spec/replicas', value: '1'}]", rule("*/scale", group="*"),
     ("/spec/replicas: expected a number, got \"1\"", "write the number without quotes")),
    ("[JSONPatch{op: 'add', path: '/spec/ephemeralContainer/-', value: {}}]", rule("pods/ephemeralcontainers"),
     ("/spec has no field 'ephemeralContainer'", "did you mean ephemeralContainers?")),
    ("[JSONPatch{op: 'add', path: '/target/node', value: 'x'}]", rule("pods/binding"),
     ("/target has no field 'node'",
      "known fields: apiVersion, fieldPath, kind, name, namespace, resourceVersion, uid")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match", "expected"), SUBRESOURCES)
def test_subresources(text: str, match: JSONObject, expected: tuple[str, str]) -> None:
    assert errors(text, match) == [expected]


def test_the_metadata_of_any_kind() -> None:
    """Advice: an object may be of a kind that ignores unknown fields."""
    wrong = "[JSONPatch{op: 'add', path: '/metadata/lables', value: {}}]"
    assert advice(wrong, EVERYTHING) == [
        ("/metadata has no field 'lables'", "did you mean labels?")
    ]
    merged = "Object{metadata: Object.metadata{lables: {'a': 'b'}}}"
    assert advice(merged, EVERYTHING) == [
        ("metadata has no field 'lables'", "did you mean labels?")
    ]
    assert advice("[JSONPatch{op: 'add', path: '/spec/x', value: 1}]", EVERYTHING) == []

"""What conditions of Kyverno mean, as CEL that policyd evaluates."""

from typing import Any

import pytest

from policyd.cel import Environment
from policyd.errors import EvaluationError
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.conditions import holds
from policyd.importers.model import Refused
from tests.importers.kyverno.classic import condition

_ENVIRONMENT = Environment.admission()
_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web", "size": "10", "empty": ""},
        "annotations": {"lifetime": "10h", "short": "90m", "bad": "soon"},
    },
    "spec": {
        "containers": [
            {
                "name": "a",
                "image": "registry.example.com:5000/shop/web:1.2",
                "ports": [{"hostPort": 80}, {"hostPort": 5500}],
            },
            {
                "name": "b",
                "image": "nginx",
                "resources": {"limits": {"memory": "1Gi"}, "requests": {"memory": "1024Mi"}},
            },
        ],
        "replicas": 3,
        "hostNetwork": True,
        "verbs": ["get", "*"],
        "hosts": ["*.example.com"],
        "tags": ["x", "y"],
        "none": [],
    },
}
_ERROR = "error"
_LABEL = "{{ request.object.metadata.labels.%s }}"
_NOTE = "{{ request.object.metadata.annotations.%s }}"
_SPEC = "{{ request.object.spec.%s }}"
_PORTS = "{{ request.object.spec.containers[].ports[].hostPort }}"
_MISSING = "{{ request.object.spec.missing[].x }}"

ROWS: list[tuple[Any, str, Any, bool | str]] = [
    # Equals and NotEquals
    (_LABEL % "app", "Equals", "web", True),
    (_LABEL % "app", "equals", "db", False),
    (_LABEL % "app", "Equals", "w*", True),
    (_LABEL % "app", "Equals", "w?b", True),
    (_LABEL % "app", "Equals", "?*", True),
    (_LABEL % "empty", "Equals", "?*", False),
    (_LABEL % "app", "Equals", "*e*", True),
    (_LABEL % "app", "Equals", "w.b", False),
    (_LABEL % "app", "NotEquals", "*b", False),
    (_LABEL % "size", "Equals", "10.0", True),
    (_LABEL % "app", "Equals", "10", False),
    (_LABEL % "missing", "Equals", "web", _ERROR),
    (_LABEL % "missing || ''", "Equals", "", True),
    (_LABEL % "missing || 'web'", "Equals", "web", True),
    (_LABEL % "empty || 'web'", "Equals", "web", True),
    (_SPEC % "replicas", "Equals", 3, True),
    (_SPEC % "replicas", "NotEquals", 3, False),
    (_SPEC % "hostNetwork", "Equals", True, True),
    (_SPEC % "hostNetwork", "NotEquals", True, False),
    (_SPEC % "tags", "Equals", ["x", "y"], True),
    (_SPEC % "tags", "Equals", ["y", "x"], False),
    (_SPEC % "none[] || `[]`", "Equals", [], True),
    ("{{ request.object.kind }}", "NotEquals", ["Pod"], True),
    ("web", "Equals", _LABEL % "app", True),
    (_LABEL % "app", "Equals", "{{ request.object.metadata.name }}", True),
    ("{{ request.object.metadata.name }}-1", "Equals", "web-1", True),
    (_SPEC % "containers[1].resources.limits.memory", "Equals", "1024Mi", True),
    (
        _SPEC % "containers[1].resources.limits.memory",
        "Equals",
        _SPEC % "containers[1].resources.requests.memory",
        True,
    ),
    (_NOTE % "short", "Equals", "1h30m", True),
    (_MISSING, "Equals", "x", False),
    (_MISSING, "NotEquals", "x", False),
    # Order
    (_SPEC % "replicas", "GreaterThan", 2, True),
    (_SPEC % "replicas", "GreaterThan", 3, False),
    (_SPEC % "replicas", "GreaterThanOrEquals", "3", True),
    (_SPEC % "replicas", "LessThanOrEquals", 2, False),
    (_LABEL % "size", "GreaterThan", 9, True),
    (_NOTE % "lifetime", "GreaterThan", "8h", True),
    (_NOTE % "lifetime", "DurationLessThan", "8h", False),
    (_NOTE % "lifetime", "DurationGreaterThanOrEquals", "600m", True),
    (_NOTE % "bad", "GreaterThan", "8h", _ERROR),
    (_SPEC % "containers[1].resources.limits.memory", "GreaterThan", "512Mi", True),
    (_SPEC % "containers[1].resources.limits.memory", "LessThanOrEquals", "1Gi", True),
    ("2Gi", "LessThan", _SPEC % "containers[1].resources.limits.memory", False),
    (_SPEC % "containers[0].resources.limits.memory || ''", "GreaterThan", 0, False),
    ("{{ length(request.object.spec.containers) }}", "GreaterThan", 1, True),
    ("{{ request.object.spec.containers[?ports] | length(@) }}", "GreaterThan", 0, True),
    ("{{ request.object.spec.containers[?stdin] | length(@) }}", "GreaterThanOrEquals", 1, False),
    ("{{ request.object.spec.containers[?stdin] | length(@) }}", "Equals", 0, True),
    ("{{ request.object.spec.containers[?stdin] | length(@) }}", "NotEquals", 0, False),
    # Lists
    (_LABEL % "app", "AnyIn", ["web", "db"], True),
    (_LABEL % "app", "In", ["db"], False),
    (_LABEL % "app", "NotIn", ["db"], True),
    (_LABEL % "app", "AnyNotIn", ["w*"], False),
    (_LABEL % "app", "AllNotIn", "web", False),
    (_LABEL % "app", "AnyIn", '["web", "db"]', True),
    (_LABEL % "app", "AnyIn", [], False),
    ("{{ request.object.spec.tags || '' }}", "AnyIn", ["y"], True),
    ("{{ request.object.spec.others || '' }}", "AnyNotIn", ["y"], True),
    (_LABEL % "app", "AnyNotIn", [], True),
    (_SPEC % "tags", "AnyIn", ["y", "z"], True),
    (_SPEC % "tags[]", "AllIn", ["x", "y", "z"], True),
    (_SPEC % "tags[]", "AllIn", ["x"], False),
    (_SPEC % "tags[]", "AnyNotIn", ["x"], True),
    (_SPEC % "tags[]", "AnyNotIn", ["x", "y"], False),
    (_SPEC % "tags[]", "AllNotIn", ["x"], False),
    (_SPEC % "tags[]", "AllNotIn", ["z"], True),
    ("x", "AnyIn", _SPEC % "tags", True),
    ("z", "AnyNotIn", _SPEC % "tags", True),
    (["x", "z"], "AnyIn", _SPEC % "tags", True),
    (["x", "z"], "AllIn", _SPEC % "tags", False),
    (["x", "z"], "AnyNotIn", _SPEC % "tags", True),
    (["x", "y"], "AnyNotIn", _SPEC % "tags", False),
    (["u", "z"], "AllNotIn", _SPEC % "tags", True),
    ("?", "AnyIn", _SPEC % "tags", True),
    (_SPEC % "tags[]", "AnyIn", "{{ request.object.spec.containers[].name }}", False),
    (_SPEC % "containers[].name", "AllNotIn", _SPEC % "tags", True),
    (_SPEC % "tags[]", "AllIn", _SPEC % "tags", True),
    # The data's own wildcards
    ("create", "AnyIn", _SPEC % "verbs", True),
    (["create", "update"], "AnyIn", "{{ request.object.spec.verbs[] }}", True),
    (_SPEC % "verbs[]", "AnyIn", ["delete"], True),
    ("shop.example.com", "AnyIn", _SPEC % "hosts", True),
    ("shop.example.org", "AnyIn", _SPEC % "hosts", False),
    ("shop.example.org", "AnyNotIn", _SPEC % "hosts[]", True),
    ("web", "AnyIn", "{{ request.object.spec.tags[].join('', ['w', '*']) }}", True),
    (
        "{{ request.object.metadata.name }}",
        "AnyIn",
        "{{ request.object.spec.tags[].join('-', [@, '*']) }}",
        False,
    ),
    # Lists that the condition spells out, with data in them
    (_LABEL % "app", "AnyIn", ["db", "{{ request.object.metadata.name }}"], True),
    (_LABEL % "app", "AnyIn", ["db", "{{ request.object.metadata.namespace }}"], False),
    ("shop-1", "AnyIn", ["{{ request.object.metadata.namespace }}-*"], True),
    ("shop-1", "AllNotIn", ["x", "*-{{ request.object.metadata.name }}"], True),
    (["{{ request.object.metadata.name }}", "x"], "AllIn", ["web", "x"], True),
    (["{{ request.object.metadata.name }}", "x"], "AnyNotIn", ["web"], True),
    # Ranges
    (_PORTS, "AnyIn", "5000-6000", True),
    (_PORTS, "AllIn", "5000-6000", False),
    (_PORTS, "AnyNotIn", "5000-6000", True),
    (_PORTS, "AnyNotIn", "1-6000", False),
    (_PORTS, "AllNotIn", "1000-2000", True),
    (_PORTS, "AnyIn", "80!-6000", False),
    (_SPEC % "replicas", "AnyIn", "1-3", True),
    (_SPEC % "replicas", "AnyNotIn", "1-3", False),
    (_SPEC % "containers[1].resources.limits.memory", "AnyIn", "512Mi-2Gi", True),
    (_PORTS, "AnyIn", [80], True),
    (_PORTS, "AnyIn", ["80"], True),
    # What is null makes an operator false
    (_MISSING, "AnyIn", ["x"], False),
    (_MISSING, "AnyNotIn", ["x"], False),
    (_MISSING, "AllNotIn", ["x"], False),
    (_MISSING, "AllIn", ["x"], False),
    ("x", "AnyNotIn", _MISSING, False),
    ("x", "AllNotIn", _MISSING, False),
    # `list || ''`
    ("{{ request.object.spec.none[] || '' }}", "AnyNotIn", ["x"], True),
    ("{{ request.object.spec.none[] || '' }}", "AnyNotIn", ["x", ""], False),
    ("{{ request.object.spec.tags[] || '' }}", "AnyNotIn", ["x", "y"], False),
    ("{{ request.object.spec.none[] || '' }}", "AllIn", [""], True),
    # The names of images
    ("registry.example.com:5000", "AnyIn", "{{ images.containers.*.registry }}", True),
    ("docker.io", "AnyIn", "{{ images.containers.*.registry }}", True),
    ("quay.io", "AnyIn", "{{ images.containers.*.registry }}", False),
    ("{{ images.containers.*.registry }}", "AnyNotIn", ["docker.io", "quay.io"], True),
    ("{{ images.containers.*.registry }}", "AnyNotIn", ["registry.example.com:5000"], True),
    ("{{ images.containers.*.path }}", "AllIn", ["shop/web", "nginx"], True),
    ("{{ images.containers.*.tag }}", "AllIn", ["1.2", "latest"], True),
    ("{{ images.containers.*.name }}", "AllIn", ["web", "nginx"], True),
    ("{{ images.initContainers.*.name || `[]` }}", "AnyNotIn", ["web"], False),
    # Booleans
    ("{{ contains(request.object.metadata.name, 'e') }}", "Equals", True, True),
    ("{{ request.object.spec.tags[].contains(@, 'x') }}", "AnyIn", [True], True),
    ([True], "AnyIn", "{{ request.object.spec.tags[].regex_match('^z', @) }}", False),
    (
        "{{ regex_match('^[0-9]+$', '{{ request.object.metadata.labels.size }}') }}",
        "Equals",
        True,
        True,
    ),
]


@pytest.mark.parametrize(("key", "operator", "value", "want"), ROWS)
def test_operator(key: Any, operator: str, value: Any, want: bool | str) -> None:
    block = {"all": [condition(key, operator, value)]}
    assert _evaluated(block) == want


@pytest.mark.parametrize(
    ("block", "want"),
    [
        ({"any": [("web", True), ("db", False)]}, True),
        ({"any": []}, False),
        ({"any": [("web", True)], "all": [("web", False)]}, False),
        ({"all": []}, True),
        ({}, True),
        ([("web", True), ("db", False)], False),
        ([{"any": [("web", True)]}, {"all": [("web", True)]}], True),
    ],
)
def test_blocks(block: Any, want: bool) -> None:
    assert _evaluated(_written(block)) is want


def _written(block: Any) -> Any:
    if isinstance(block, tuple):
        name, same = block
        value = name if same else f"not-{name}"
        return condition(name, "Equals", value)
    if isinstance(block, list):
        return [_written(each) for each in block]
    return {name: [_written(each) for each in rows] for name, rows in block.items()}


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        (condition("a", "Like", "b"), "c.any[0].operator", "`Like` is not an op"),
        (condition("{{ x }}", "Equals", "b"), "c.any[0].key", "`x` is not defined"),
        (
            condition("a", "Equals", "{{ time_now() }}"),
            "c.any[0].value",
            r"`time_now\(\)` has no counterpart",
        ),
        ({"key": "a", "operator": "Equals", "val": "b"}, "c.any[0]", "`val` is not a field"),
        ("a", "c.any[0]", "expected a condition"),
    ],
)
def test_refusal_names_the_place(given: Any, path: str, message: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        holds({"any": [given]}, Vocabulary.request(), "c")
    assert refused.value.finding.path == path


@pytest.mark.parametrize(
    ("key", "operator", "value", "want"),
    [
        (
            "{{ request.operation || 'BACKGROUND' }}",
            "AnyIn",
            ["CREATE", "UPDATE"],
            "request.operation in ['CREATE', 'UPDATE']",
        ),
        (
            "{{ request.object.spec.hostNetwork || `false` }}",
            "Equals",
            True,
            "object.spec.?hostNetwork.orValue(false)",
        ),
        (
            "{{ request.object.spec.containers[].name }}",
            "AnyNotIn",
            ["a", "b"],
            "object.spec.?containers.orValue([]).exists(container, has(container.name) && "
            "!(container.name in ['a', 'b']))",
        ),
        ("tls", "AnyNotIn", "{{ request.object.spec.keys(@) }}", "!('tls' in object.spec)"),
        (
            _PORTS,
            "AnyIn",
            "1-9",
            "object.spec.?containers.orValue([]).exists(container, container.?ports.orValue([])"
            ".exists(port, has(port.hostPort) && port.hostPort >= 1 && port.hostPort <= 9))",
        ),
    ],
)
def test_cel_is_as_a_person_would_write_it(key: Any, operator: str, value: Any, want: str) -> None:
    block = {"all": [condition(key, operator, value)]}
    assert holds(block, Vocabulary.request(present=("spec",)), "conditions").text == want


def _evaluated(block: Any) -> bool | str:
    text = holds(block, Vocabulary.request(present=("spec",)), "conditions").text
    request = {"operation": "CREATE", "userInfo": {"username": "alice", "groups": ["devs"]}}
    try:
        found = _ENVIRONMENT.compile(text).evaluate(
            {"object": _POD, "oldObject": None, "namespaceObject": None, "request": request}
        )
    except EvaluationError:
        return _ERROR
    assert isinstance(found, bool)
    return found


@pytest.mark.parametrize(
    ("exclude", "want"),
    [("shop", False), ("sh*", False), ('["dev", "shop"]', False), ('["dev"]', True), ("dev", True)],
)
def test_config_map_holds_a_pattern_or_a_list(exclude: str, want: bool) -> None:
    scope = Vocabulary.request().bound("settings", "params", present=("data",))
    key, value = "{{ request.object.metadata.namespace }}", "{{ settings.data.exclude }}"
    text = holds([condition(key, "AnyNotIn", value)], scope, "conditions").text
    program = Environment.admission(params=True).compile(text)
    values = {"object": _POD, "oldObject": None, "namespaceObject": None, "request": {}}
    assert program.evaluate(values | {"params": {"data": {"exclude": exclude}}}) is want

"""Strings with variables, and functions that jmespath does not have."""

from typing import Any

import pytest

from policyd.cel import Environment
from policyd.importers.jmespath.interpolation import has_variables, interpolated
from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary

_SCOPE = Vocabulary.request(present=("spec",)).bound(
    "element", "container", present=("name", "image"), field="containers"
)
_OBJECT = {
    "metadata": {"name": "Web", "labels": {"app": "web", "tier": "x"}},
    "spec": {"tags": ["b", "a"], "size": "2Gi", "half": "1Gi", "version": "1.4.2", "count": 3},
}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain", "'plain'"),
        ('it\'s "here"', "'it\\'s \"here\"'"),
        ("{{ element.name }}", "container.name"),
        ("{{element.name}}-{{ element.image }}", "container.name + '-' + container.image"),
        ("x {{ request.object.spec.replicas }}", "'x ' + string(object.spec.replicas)"),
        (r"\{{ element.name }}", "'{{ element.name }}'"),
        ("{{ element.name", "'{{ element.name'"),
        (
            "{{ starts_with('{{ element.image }}', 'a') }}",
            "container.image.startsWith('a')",
        ),
        (
            "{{ contains('x-{{ element.name }}', 'a') }}",
            "('x-' + container.name).contains('a')",
        ),
        (
            "{{ request.object.metadata.labels.\"{{ element.name }}\" || '' }}",
            "object.metadata.?labels[?container.name].orValue('')",
        ),
        (
            "{{ label_match(`{{ request.object.spec.selector }}`, request.object.metadata.labels) }}",
            "object.spec.selector.all(key, value, object.metadata.labels[?key] == "
            "optional.of(value))",
        ),
        ("{{ {name: element.name} }}", "{'name': dyn(container.name)}"),
        ("{{ regex_match('^a{2}$', element.name) }}", "container.name.matches('^a{2}$')"),
        ("{{ request.requestKind.kind }}", "request.requestKind.kind"),
        ("{{ request.requestResource.resource }}", "request.requestResource.resource"),
    ],
)
def test_string_becomes_cel(text: str, want: str) -> None:
    assert interpolated(text, _SCOPE) == want


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("{{ a }}", True),
        ("a", False),
        (r"\{{ a }}", False),
        ([1, {"a": ["x{{ a }}"]}], True),
        ({"{{ a }}": 1}, True),
        ({"a": [None, 2.5]}, False),
    ],
)
def test_variables_are_found_anywhere(value: Any, want: bool) -> None:
    assert has_variables(value) is want


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nothing.here", "`nothing` is not defined here"),
        ("request", "`request` as a whole is not available"),
        ("request.roles", "bindings of the user"),
        ("target.metadata.name", "`target` is an object in the cluster"),
        ("time_now_utc()", "changes from one evaluation to the next"),
        ("regex_replace_all(element.name, 'a', 'b')", "more than a beginning or an end"),
        ("parse_yaml(element.name)", "CEL has no function for it"),
        ("no_such(element)", "is not a function of JMESPath or Kyverno"),
        ("split(element.name)", "takes 2 arguments, not 1"),
        ("merge()", "takes 1 arguments, not 0"),
        ("sort_by(element.ports, &name)", "has no counterpart"),
        ("element.ports[1:2]", "slice"),
        ("element.[", "is no JMESPath"),
        ("images.containers.*.digest", "`digest` of `images`"),
        ("semver_compare(element.name, '1.x')", "the range of versions `1.x`"),
        ("add(element.size, `1`)", "anything but numbers"),
    ],
)
def test_what_cel_cannot_say_is_named(expression: str, message: str) -> None:
    with pytest.raises(NotTranslatable, match=message):
        read(expression, _SCOPE)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("divide(spec.size, spec.half)", 2.0),
        ("add(length(spec.tags), `1`)", 3),
        ("subtract(length(spec.tags), `1`)", 1),
        ("modulo(length(spec.tags), `2`)", 0),
        ("divide(`3`, `2`)", 1.5),
        ("trim_prefix(metadata.name, 'W')", "eb"),
        ("trim(' a ', ' ')", "a"),
        ("truncate(metadata.name, `2`)", "We"),
        ("replace_all(metadata.name, 'e', '_')", "W_b"),
        ("replace('aaa', 'a', 'b', `2`)", "bba"),
        ("compare('a', 'b')", -1),
        ("equal_fold(metadata.name, 'WEB')", True),
        ("to_lower(metadata.name)", "web"),
        ('label_match(`{"app": "web"}`, metadata.labels)', True),
        ('label_match(`{"app": "db"}`, metadata.labels)', False),
        ("pattern_match('W*', metadata.name)", True),
        ("semver_compare(spec.version, '>=1.4.0 <2.0.0')", True),
        ("semver_compare(spec.version, '<1.4.0 || 1.4.2')", True),
        ("semver_compare(spec.version, '!=1.4.2')", False),
        ("items(metadata.labels, 'k', 'v') | length(@)", 2),
        ("merge(metadata.labels, {tier: null})", {"app": "web"}),
        ("to_boolean('TRUE')", True),
        ("time_before('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')", True),
        ("time_after('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')", False),
        ("sort(spec.tags)", ["a", "b"]),
        ("spec.tags[].to_string(@)", ["b", "a"]),
        ("spec.missing.to_string(@) || 'none'", "none"),
        ("to_string(spec.missing)", "null"),
    ],
)
def test_function(expression: str, want: Any) -> None:
    scope = Vocabulary().bound("metadata", "object.metadata", present=("name", "labels"))
    scope = scope.bound("spec", "object.spec", present=("tags", "size", "half", "version"))
    program = Environment.admission().compile(read(expression, scope).text())
    values = {"object": _OBJECT, "oldObject": None, "namespaceObject": None, "request": {}}
    assert program.evaluate(values) == want

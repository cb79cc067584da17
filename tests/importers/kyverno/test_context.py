"""The context of Kyverno's rules."""

from typing import Any

import pytest

from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.context import bound
from policyd.importers.model import Refused

_SCOPE = Vocabulary.request(present=("spec",))


def test_query_becomes_a_variable() -> None:
    query = "request.object.spec.volumes[?hostPath].name"
    scope, parts = bound([{"name": "paths", "variable": {"jmesPath": query}}], _SCOPE, "context")
    expression = (
        "object.spec.?volumes.orValue([])"
        ".map(volume, volume.?hostPath.orValue({}) != {} && has(volume.name), volume.name)"
    )
    assert parts == {"variables": [{"name": "paths", "expression": expression}]}
    assert read("length(paths)", scope).text() == "size(variables.paths)"


def test_inline_value_is_written_where_it_is_used() -> None:
    entries = [{"name": "found", "variable": {"value": "{{ element.name }}-x"}}]
    scope = _SCOPE.bound("element", "container", present=("name",))
    scope, parts = bound(entries, scope, "context", inline=True)
    assert parts == {}
    assert read("found", scope).text() == "container.name + '-x'"


@pytest.mark.parametrize(
    ("variable", "want"),
    [
        ({"value": "a"}, "'a'"),
        ({"value": {"a": [1]}, "jmesPath": "a[0]"}, "{'a': [1]}.a[0]"),
        (
            {"value": "{{ request.object.metadata.name }}", "jmesPath": "to_upper(@)"},
            "object.metadata.name.upperAscii()",
        ),
        ({"jmesPath": "request.object.spec.x", "default": "y"}, "object.spec.?x.orValue('y')"),
    ],
)
def test_variable(variable: dict[str, Any], want: str) -> None:
    _, parts = bound([{"name": "v", "variable": variable}], _SCOPE, "context")
    assert parts["variables"] == [{"name": "v", "expression": want}]


def test_config_map_becomes_parameters() -> None:
    entries = [{"name": "names", "configMap": {"name": "settings", "namespace": "kyverno"}}]
    scope, parts = bound(entries, _SCOPE, "context")
    assert parts == {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "paramRef": {
            "name": "settings",
            "namespace": "kyverno",
            "parameterNotFoundAction": "Deny",
        },
    }
    assert read("names.data.teams", scope).text() == "params.data.teams"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("apiCall", "`x` is the result of an API call"),
        ("globalReference", "`x` is in Kyverno's global context"),
        ("imageRegistry", "`x` is what an image registry says"),
    ],
)
def test_what_is_fetched_has_no_meaning(source: str, reason: str) -> None:
    scope, parts = bound([{"name": "x", source: {"urlPath": "/api"}}], _SCOPE, "context")
    assert parts == {}
    with pytest.raises(NotTranslatable, match=reason):
        read("x.items", scope).text()


def test_what_has_no_counterpart_is_refused_where_it_is_used() -> None:
    entries = [{"name": "x", "variable": {"jmesPath": "time_now()"}}]
    scope, _ = bound(entries, _SCOPE, "context")
    with pytest.raises(NotTranslatable, match=r"`x` has no counterpart: `time_now\(\)`"):
        read("x", scope).text()


@pytest.mark.parametrize(
    ("entries", "path", "message"),
    [
        ({"name": "x"}, "context", "expected a list"),
        ([{"variable": {"value": 1}}], "context[0]", "a `name`"),
        ([{"name": "x"}], "context[0]", "expected one source for `x`, not 0"),
        ([{"name": "x", "secret": {}}], "context[0]", "`secret` is not a source"),
        ([{"name": "x", "variable": {"query": "a"}}], "context[0].variable", "`query`"),
        ([{"name": "x", "variable": {"jmesPath": []}}], "context[0].variable.jmesPath", "a string"),
        (
            [{"name": n, "configMap": {"name": n}} for n in ("a", "b")],
            "context[1].configMap",
            "two ConfigMaps",
        ),
        (
            [{"name": "x", "configMap": {"name": "{{ request.namespace }}"}}],
            "context[0].configMap",
            "depends on the request",
        ),
    ],
)
def test_refusal_names_the_place(entries: Any, path: str, message: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        bound(entries, _SCOPE, "context")
    assert refused.value.finding.path == path

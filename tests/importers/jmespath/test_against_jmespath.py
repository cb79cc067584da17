"""Expressions as the jmespath package evaluates them, and as policyd evaluates their CEL."""

from typing import Any

import hypothesis.strategies as st
import jmespath
import jmespath.exceptions
import jmespath.functions
import pytest
from hypothesis import given, settings

from policyd._core.eval.program import Program
from policyd.cel import Environment
from policyd.errors import EvaluationError
from policyd.export.expressions.cel import Cel
from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.values import CelValue
from policyd.importers.jmespath.vocabulary import Vocabulary
from tests.sampling import examples

_NAMES = st.sampled_from(["web", "db", "*", "a:b", ""])
_CONTAINER = st.fixed_dictionaries(
    {"name": _NAMES},
    optional={
        "image": st.sampled_from(["nginx", "nginx:1", "registry.example.com/web:2"]),
        "command": st.lists(_NAMES, max_size=3),
        "securityContext": st.fixed_dictionaries(
            {},
            optional={
                "privileged": st.booleans(),
                "runAsUser": st.integers(0, 3),
                "capabilities": st.fixed_dictionaries(
                    {}, optional={"add": st.lists(_NAMES, max_size=2)}
                ),
            },
        ),
        "ports": st.lists(
            st.fixed_dictionaries({}, optional={"hostPort": st.integers(0, 3)}), max_size=2
        ),
    },
)
_OBJECT = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": _NAMES},
            optional={
                "labels": st.dictionaries(st.sampled_from(["app", "team.io/x"]), _NAMES, max_size=2)
            },
        )
    },
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": st.lists(_CONTAINER, max_size=3),
                "initContainers": st.lists(_CONTAINER, max_size=2),
                "replicas": st.integers(0, 3),
                "hostNetwork": st.booleans(),
            },
        )
    },
)


class _Functions(jmespath.functions.Functions):  # type: ignore[misc]
    # Unlike those of jmespath, Kyverno does not call functions of what is missing: `a.split(@, ':')`.
    @jmespath.functions.signature({"types": ["string", "null"]}, {"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_split(self, text: str | None, separator: str) -> list[str] | None:
        return None if text is None else text.split(separator)

    @jmespath.functions.signature({"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_to_upper(self, text: str) -> str:
        return text.upper()

    @jmespath.functions.signature({"types": ["object", "null"]})  # type: ignore[untyped-decorator]
    def _func_keys(self, data: dict[str, Any] | None) -> list[str] | None:
        return None if data is None else list(data)

    @jmespath.functions.signature({"types": ["string"]}, {"types": ["array", "null"]})  # type: ignore[untyped-decorator]
    def _func_join(self, separator: str, items: list[str] | None) -> str | None:
        return None if items is None else separator.join(items)


EXPRESSIONS = [
    "metadata.name",
    "metadata.labels",
    "metadata.labels.app",
    'metadata.labels."team.io/x"',
    "metadata.labels.app || 'none'",
    "metadata.labels.app || ''",
    "metadata.labels || `{}` | length(@)",
    "spec.replicas || `1`",
    "spec.hostNetwork || `false`",
    "spec.hostNetwork || `true`",
    "!spec.hostNetwork",
    "!(spec.hostNetwork)",
    "spec.replicas == `1`",
    "spec.replicas != `1`",
    "spec.replicas > `1`",
    "spec.replicas && 'scaled'",
    "spec.containers[].name",
    "spec.containers[*].name",
    "spec.containers[].image",
    "spec.containers[].image || `[]`",
    "spec.containers[0].image",
    "spec.containers[-1].name",
    "spec.containers[].image | [0]",
    "spec.containers[].image | [0] || 'none'",
    "length(spec.containers)",
    "spec.containers[] | length(@)",
    "spec.containers[].image || `[]` | length(@)",
    "spec.containers[].ports[].hostPort",
    "spec.containers[].ports[].hostPort || `[]` | length(@)",
    "spec.containers[].ports[]",
    "spec.containers[].command[]",
    "spec.containers[].command",
    "spec.containers[].securityContext.capabilities.add[]",
    "spec.containers[?securityContext.privileged].name",
    "spec.containers[?securityContext.privileged == `true`].name",
    "spec.containers[?securityContext.privileged == `false`].name",
    "spec.containers[?securityContext.privileged != `true`].name",
    "spec.containers[?securityContext.runAsUser == `0`].name",
    "spec.containers[?securityContext.runAsUser > `1`].name",
    "spec.containers[?image == 'nginx'].name",
    "spec.containers[?image != 'nginx'].name",
    "spec.containers[?image].name",
    "spec.containers[?!image].name",
    "spec.containers[?command].name",
    "spec.containers[?ports[?hostPort == `1`]].name",
    "spec.containers[?name == 'web' && image].name",
    "spec.containers[?name == 'web' || name == 'db'].name",
    "spec.containers[?contains(name, 'e')].name",
    "spec.containers[?contains(keys(@), 'image')].name",
    "spec.containers[?starts_with(name, 'w')] | length(@)",
    "spec.containers[].image[?starts_with(@, 'nginx')]",
    "spec.containers[?securityContext.runAsUser == securityContext.fsGroup].name",
    "spec.[containers, initContainers][].name",
    "spec.[initContainers, containers][].ports[].hostPort",
    "spec.[containers[0].name, replicas]",
    "{name: metadata.name, replicas: spec.replicas}",
    "spec.containers[].keys(@)[]",
    "spec.keys(@)",
    "keys(spec) | contains(@, 'replicas')",
    "contains(spec.containers[].name, 'web')",
    "contains(metadata.name, 'e')",
    "spec.containers[].image.split(@, ':')[0]",
    "spec.containers[].image.split(@, ':')[]",
    "spec.containers[].name.to_upper(@)",
    "spec.containers[0].command.join('-', @)",
    "join('-', [metadata.name, 'x'])",
    "spec.containers[].to_string(name)",
    "sort(spec.containers[].name)",
    "max(spec.containers[].ports[].hostPort || `[0]`)",
    "not_null(metadata.labels.app, metadata.name)",
    "ends_with(metadata.name, 'b')",
    "metadata.labels.*",
    "values(metadata.labels)",
    "spec.containers[?name == 'web'] | [0].image",
    "spec.containers[].ports[?hostPort == `1`]",
    "spec.containers[].ports[?hostPort == `1`][]",
    "to_number('3')",
    "to_string(spec.replicas)",
    "sum(spec.containers[].ports[].hostPort)",
    "reverse(spec.containers[].name)",
    "spec.containers[].[name, image]",
    "metadata.name && spec.replicas",
    "spec.replicas < `3` && spec.hostNetwork",
    "spec.containers[].image || spec.initContainers[].image",
    "metadata.labels.app || metadata.name",
    "metadata.labels.app || metadata.labels.\"team.io/x\" || 'none'",
]
_SCOPE = Vocabulary().bound("metadata", "object.metadata", present=("name",))
_ENVIRONMENT = Environment.admission()


def _oracle(expression: str, data: dict[str, Any]) -> Any:
    try:
        return jmespath.search(expression, data, jmespath.Options(custom_functions=_Functions()))
    except jmespath.exceptions.JMESPathError:
        return None


def _scope() -> Vocabulary:
    spec = CelValue(Cel("object")).select("spec")
    return _SCOPE.standing_for("spec", spec)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_cel_gives_what_jmespath_gives(expression: str) -> None:
    term = read(expression, _scope())
    program = _ENVIRONMENT.compile(term.text())
    presence = term.presence()
    found = _ENVIRONMENT.compile(presence.text)

    @settings(max_examples=examples(40, 10))
    @given(_OBJECT)
    def holds(data: dict[str, Any]) -> None:
        want = _oracle(expression, data)
        if not _evaluated(found, data):
            assert want is None, presence
        elif want is None:
            # A function of null: an error there, an error here.
            # An order of null is null, which a condition takes for false.
            got = _evaluated(program, data)
            assert got in (None, False) or isinstance(got, EvaluationError), term.text()
        else:
            got = _evaluated(program, data)
            assert got == want and type(got) is type(want), term.text()

    holds()


def _evaluated(program: Program, data: dict[str, Any]) -> Any:
    try:
        return program.evaluate(
            {"object": data, "oldObject": None, "namespaceObject": None, "request": {}}
        )
    except EvaluationError as error:
        return error

"""The trees that people are shown of an evaluation."""

from collections.abc import Iterator
from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program, render
from policyd._core.eval.tracing import Tracer
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.trace.building import steps
from policyd.cel.trace.steps import Step, Steps
from policyd.cel.trace.tracing import plan_traced
from policyd.errors import CelCompileError
from tests.cel.trace.samples import ENVIRONMENT, OBJECT
from tests.cel.variables import with_variables
from tests.fuzz import questions


def explained(text: str, variables: dict[str, Any] | None = None) -> Steps:
    tracer = Tracer()
    program = plan_traced(ENVIRONMENT.check(text), Layout(), tracer, label="here")
    program.evaluate_with_cost({"object": OBJECT} if variables is None else variables)
    return steps(tracer.take()[0])


def lines(step: Step, depth: int = 0) -> Iterator[str]:
    """A line for each step below the first."""
    for child in step.children:
        value = child.value
        if isinstance(value, dict | list):
            shown = type(value).__name__
        else:
            shown = f"error: {value.message}" if isinstance(value, CelError) else render(value)
        what = child.state if child.state != "done" else shown
        yield f"{'  ' * depth}{child.text} = {what}{' <' * child.deciding}"
        yield from lines(child, depth + 1)


TREES = [
    (
        "object.spec.replicas > 2 && object.spec.replicas < 3 && true",
        [
            "object.spec.replicas > 2 = true",
            "  object.spec.replicas = 3",
            "object.spec.replicas < 3 = false <",
            "  object.spec.replicas = 3",
            "true = true",
        ],
    ),
    (
        "object.spec.containers.all(c, has(c.image))",
        [
            "object.spec.containers = list",
            "c = dict",
            "  has(c.image) = true",
            "c = dict <",
            "  has(c.image) = false",
        ],
    ),
    (
        "object.spec.replicas > 2 || object.x",
        [
            "object.spec.replicas > 2 = true <",
            "  object.spec.replicas = 3",
            "object.x = skipped",
        ],
    ),
    (
        "object.spec.missing.deep[1 + object.spec.replicas] == 1",
        [
            "object.spec.missing.deep[1 + object.spec.replicas] = error: no such key: missing",
            "  1 + object.spec.replicas = skipped",
            "  object.spec = dict",
        ],
    ),
    (
        "has(object.spec.replicas.x) ? 1 : object.spec.replicas * 2",
        [
            "has(object.spec.replicas.x) = false",
            "  object.spec.replicas = 3",
            "object.spec.replicas * 2 = 6",
            "  object.spec.replicas = 3",
        ],
    ),
    (
        "object.?a.optMap(x, x + 1).orValue(7) == object.?spec.optMap(s, s.replicas).value()",
        [
            "object.?a.optMap(x, x + 1).orValue(7) = 7",
            "  object.?a.optMap(x, x + 1) = optional.none()",
            "    object.?a = optional.none()",
            "object.?spec.optMap(s, s.replicas).value() = 3",
        ],
    ),
    (
        "object.spec.?template.?name.orValue('') == 'a'",
        ['object.spec.?template.?name.orValue("") = ', "  object.spec = dict"],
    ),
    (
        "{'a': object.spec.replicas}.a in [1, 2]",
        [
            '{"a": object.spec.replicas}.a = 3',
            '  {"a": object.spec.replicas} = dict',
            "    object.spec.replicas = 3",
        ],
    ),
    (
        "object.spec.containers.sortBy(c, c.name).size() > 1",
        [
            "object.spec.containers.sortBy(c, c.name).size() = 3",
            "  object.spec.containers.sortBy(c, c.name) = list",
            "    object.spec.containers = list",
        ],
    ),
]


@pytest.mark.parametrize(("text", "want"), TREES)
def test_tree_of_an_expression(text: str, want: list[str]) -> None:
    made = explained(text)
    found = list(lines(made.root))
    assert found[: len(want)] == want
    assert made.label == "here"


def test_variables_are_told_apart_with_trees_of_their_own() -> None:
    tracer, layout = Tracer(), Layout()
    environment = Environment.admission()
    declared: dict[str, Program] = {}
    for name, text in (("a", "object.spec.replicas"), ("b", "variables.a + 1")):
        checked = with_variables(environment, declared).check(text)
        declared[name] = plan_traced(checked, layout, tracer, variable=name)
        layout.define(name, declared[name])
    checked = with_variables(environment, declared).check("[1].all(i, variables.b > i)")
    plan_traced(checked, layout, tracer).evaluate({"object": OBJECT})
    made = steps(tracer.take()[0])
    assert [(name, step.text, step.value) for name, step in made.variables] == [
        ("a", "object.spec.replicas", 3),
        ("b", "variables.a + 1", 4),
    ]
    assert list(lines(made.root)) == [
        "i = 1",
        "  variables.b > i = true",
        "    variables.b = 4",
    ]


def every(step: Step) -> Iterator[Step]:
    yield step
    for child in step.children:
        yield from every(child)


@pytest.mark.parametrize("make", [questions.typed, questions.untyped])
def test_any_evaluation_has_a_tree_with_the_programs_value_and_cost(make: Any) -> None:
    for question in make(600, 21):
        tracer = Tracer()
        try:
            checked = ENVIRONMENT.check(question["expression"])
            program = plan_traced(checked, Layout(), tracer)
        except CelCompileError:
            continue
        value, cost = program.evaluate_with_cost(question["variables"])
        made = steps(tracer.take()[0])
        assert made.root.cost == cost
        if made.root.state == "cut":  # where cel-go panics
            assert str(value.message).startswith("internal error: ")
            continue
        assert made.root.value == value or repr(value) == "nan"
        assert all(step.text and step.state in ("done", "skipped") for step in every(made.root))

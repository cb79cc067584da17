"""``variables.x`` of policies: computed at most once, when first used, with an account of their own."""

from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from tests.cel.variables import with_variables

MANY = {"object": {"items": list(range(1000))}}


def compose(variables: dict[str, str], expression: str) -> Program:
    """The program of an expression that may use the variables, as a policy compiles it."""
    layout = Layout(("object",))
    environment = with_variables(Environment.admission(), {})
    programs: dict[str, Program] = {}
    for name, text in variables.items():
        programs[name] = plan(environment.check(text), layout)
        layout.define(name, programs[name])
        environment = with_variables(environment, programs)
    return plan(environment.check(expression), layout)


def run(variables: dict[str, str], expression: str, given: Any = None) -> tuple[Any, int]:
    return compose(variables, expression).evaluate_with_cost(given or {"object": {"a": 1}})


@pytest.mark.parametrize(
    ("variables", "expression", "value"),
    [
        ({"a": "object.a"}, "variables.a == 1", True),
        ({"a": "object.a", "b": "variables.a + 1"}, "variables.b", 2),
        ({"a": "[1, 2, 3].map(x, x * 2)"}, "[4, 9].map(x, x in variables.a)", [True, False]),
        ({"a": "{'k': {'l': 5}}"}, "variables.a.k.l", 5),
        ({"a": "object.missing"}, "has(variables.a) || true", True),
        ({"a": "1"}, "has(variables.a)", True),
        ({"a": "optional.of({'k': 1})"}, "variables.a.k.orValue(2)", 1),
        ({"a": "1", "b": "2"}, "variables.?a.orValue(3) + variables.b", 3),
    ],
)
def test_value(variables: dict[str, str], expression: str, value: Any) -> None:
    assert run(variables, expression)[0] == value


def test_error_names_the_variable_at_every_use() -> None:
    found, _ = run({"a": "object.missing"}, "variables.a == 1")
    assert found == CelError('composited variable "a" fails to evaluate: no such key: missing')
    assert run({"a": "object.missing"}, "variables.a == 1 || variables.a == 2 || true")[0] is True


def test_cost_is_charged_at_first_use_only() -> None:
    once = run({"a": "object.items.all(i, i >= 0)"}, "variables.a", MANY)[1]
    twice = run({"a": "object.items.all(i, i >= 0)"}, "variables.a && variables.a", MANY)[1]
    unused = run({"a": "object.items.all(i, i >= 0)"}, "true", MANY)[1]
    assert twice == once + 2
    assert unused == 0


def test_later_definition_of_a_name_replaces_the_earlier() -> None:
    layout = Layout(("object",))
    environment = with_variables(Environment.admission(), {})
    for text in ("1", "2"):
        program = plan(environment.check(text), layout)
        layout.define("a", program)
        environment = with_variables(environment, {"a": program})
    assert plan(environment.check("variables.a"), layout).evaluate({}) == 2


def test_variable_that_uses_itself_is_an_error() -> None:
    layout = Layout(("object",))
    environment = with_variables(Environment.admission(), {"a": plan_one("1", layout)})
    layout.define("a", plan(environment.check("variables.a + 1"), layout))
    found, _ = plan(environment.check("variables.a"), layout).evaluate_with_cost({})
    assert isinstance(found, CelError)
    assert "nested too deeply" in found.message


def plan_one(text: str, layout: Layout) -> Program:
    program = plan(Environment.admission().check(text), layout)
    layout.define("a", program)
    return program


def test_limit_inside_a_variable_is_its_error() -> None:
    program = compose({"a": "object.items.all(i, i >= 0)"}, "variables.a")
    found, _ = program.evaluate_with_cost(MANY, cost_limit=500)
    assert found == CelError(
        'composited variable "a" fails to evaluate: operation cancelled: actual cost limit exceeded'
    )

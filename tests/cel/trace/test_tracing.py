"""Traced programs: the same values and costs as ever, and a record of each part."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program, render
from policyd._core.eval.tracing import Record, Round, Tracer
from policyd._core.values.errors import CelError
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.trace.tracing import TracedExpression, plan_traced
from policyd.cel.types.types import DYN
from policyd.errors import BudgetExceeded, CelCompileError
from tests.cel.trace.samples import ENVIRONMENT, OBJECT
from tests.cel.variables import with_variables
from tests.fuzz import questions
from tests.shared import ROOT

ROWS = ROOT / "tests/core/rows"


def traced(text: str, variables: dict[str, Any]) -> tuple[Any, int, Record]:
    tracer = Tracer()
    program = plan_traced(ENVIRONMENT.check(text), Layout(), tracer)
    value, cost = program.evaluate_with_cost(variables)
    (root,) = tracer.take()
    return value, cost, root


def outcome(program: Program, variables: dict[str, Any]) -> tuple[object, ...]:
    try:
        value, cost = program.evaluate_with_cost(variables)
    except BudgetExceeded as exceeded:
        return (str(exceeded),)
    return type(value), render(value), cost


def both(text: str, variables: dict[str, Any]) -> tuple[object, object] | None:
    """What the plain and the traced program say; None if there is no program."""
    environment = ENVIRONMENT.extend(dict.fromkeys(variables, DYN))
    try:
        checked = environment.check(text)
        plain = plan(checked, Layout())
    except CelCompileError:
        return None
    program = plan_traced(checked, Layout(), Tracer())
    return outcome(plain, variables), outcome(program, variables)


@pytest.mark.parametrize("make", [questions.typed, questions.untyped])
def test_tracing_changes_neither_values_nor_costs(make: Any) -> None:
    compared = 0
    for question in make(2000, 11):
        found = both(question["expression"], question["variables"])
        if found is not None:
            plain, program = found
            assert program == plain, question["expression"]
            compared += 1
    assert compared > 400


def test_tracing_changes_nothing_of_the_recorded_rows() -> None:
    variables = json.loads((ROWS / "subject.json").read_bytes())
    rows = [json.loads(line) for line in (ROWS / "language.jsonl").read_bytes().splitlines()]
    for row in rows:
        found = both(row["expression"], variables)
        if found is not None:
            assert found[1] == found[0], row["expression"]


def records(record: Record) -> Iterator[Record]:
    yield record
    for child in (*record.children, *(each for turn in record.rounds for each in turn.children)):
        yield from records(child)


def test_each_step_of_a_chain_is_recorded_with_its_cost() -> None:
    _, cost, root = traced("object.spec.replicas > 2", {"object": OBJECT})
    assert [(each.value, each.cost) for each in records(root)] == [
        (True, 4),
        (3, 3),
        (OBJECT["spec"], 2),
        (OBJECT, 1),
    ]
    assert root.cost == cost


def test_what_was_not_evaluated_has_no_record() -> None:
    _, _, root = traced("object.spec.replicas > 2 || object.nothing", {"object": OBJECT})
    assert [each.value for each in root.children] == [True]


def test_errors_are_recorded_where_they_arose() -> None:
    _, _, root = traced("object.spec.missing.deep == 1", {"object": OBJECT})
    failed = [each for each in records(root) if isinstance(each.value, CelError)]
    assert len(failed) == 3
    assert failed[-1].value.message == "no such key: missing"
    assert failed[-1].children[0].value == OBJECT["spec"]


def test_constants_stay_folded_and_are_known() -> None:
    text = "object.spec.replicas in [1, 2] || quantity('1Gi').isGreaterThan(quantity('1Mi'))"
    value, cost, root = traced(text, {"object": OBJECT})
    assert (value, cost) == ENVIRONMENT.compile(text).evaluate_with_cost({"object": OBJECT})
    expression = root.expression
    assert isinstance(expression, TracedExpression)
    assert [1, 2] in expression.constants.values()


def test_rounds_of_a_fold_tell_the_variables() -> None:
    _, _, root = traced("object.spec.containers.all(c, has(c.image))", {"object": OBJECT})
    assert [turn.first["name"] for turn in root.rounds] == ["web", "log"]
    assert [turn.children[0].value for turn in root.rounds] == [True, False]
    _, _, root = traced("[5, 6].all(i, n, n > i)", {})
    assert [(turn.first, turn.second) for turn in root.rounds] == [(0, 5), (1, 6)]


def test_condition_and_body_are_of_one_round() -> None:
    _, _, root = traced("[1, 2, 3].map(n, n > 1, n * n)", {})
    assert [[each.value for each in turn.children] for turn in root.rounds] == [
        [False],
        [True, 4],
        [True, 9],
    ]


def rounds_of(text: str, size: int) -> tuple[list[Round], int]:
    _, _, root = traced(text, {"object": list(range(size))})
    return root.rounds, root.skipped


def test_many_rounds_are_cut_to_the_first_and_the_one_that_decided() -> None:
    rounds, skipped = rounds_of("object.all(n, n < 5000)", 10_000)
    assert [turn.number for turn in rounds] == [*range(10), 5000]
    assert skipped == 5001 - len(rounds)


def test_rounds_that_stand_out_are_kept() -> None:
    rounds, _ = rounds_of("object.exists_one(n, n == 700)", 1000)
    assert [turn.number for turn in rounds if turn.notable] == [700]
    rounds, _ = rounds_of("object.all(n, n < 30 || n.x == 1)", 1000)
    assert sum(turn.notable for turn in rounds) >= 10
    assert len(rounds) < 30


def test_nested_folds_do_not_use_up_the_records() -> None:
    text = "object.all(n, object.all(m, n + m < 350))"
    _, _, root = traced(text, {"object": list(range(200))})
    last = root.rounds[-1]
    assert last.first == 151
    assert last.children[0].rounds[-1].first == 199


def test_variables_are_recorded_inside_the_expression_that_uses_them_first() -> None:
    tracer, layout = Tracer(), Layout()
    variable = plan_traced(ENVIRONMENT.check("1 + 2"), layout, tracer, variable="x")
    layout.define("x", variable)
    environment = with_variables(Environment.admission(), {"x": variable})
    text = "variables.x > 2 && variables.x < 9"
    program = plan_traced(environment.check(text), layout, tracer)
    plain_layout = Layout()
    plain_layout.define("x", plan(ENVIRONMENT.check("1 + 2"), plain_layout))
    plain = plan(environment.check(text), plain_layout)
    assert program.evaluate_with_cost({}) == plain.evaluate_with_cost({})
    (root,) = tracer.take()
    definitions = [each for each in records(root) if each.expression is not root.expression]
    assert [each.value for each in definitions if each.expression.variable == "x"][:1] == [3]
    assert tracer.take() == []


def test_a_limit_leaves_an_unfinished_record() -> None:
    tracer = Tracer()
    program = plan_traced(ENVIRONMENT.check("object.all(n, n >= 0)"), Layout(), tracer)
    with pytest.raises(BudgetExceeded):
        program.evaluate_with_cost({"object": list(range(1000))}, cost_limit=100)
    (root,) = tracer.take()
    assert not root.finished
    assert program.evaluate_with_cost({"object": [1]})[0] is True
    assert len(tracer.take()) == 1

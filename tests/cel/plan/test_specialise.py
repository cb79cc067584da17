"""Nodes that stand for several: the value, error and cost of the nodes that they replace.

Traced programs have only plain nodes, so they say what is right.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.eval.access import HasPathNode
from policyd._core.eval.fused import PathTests
from policyd._core.eval.layout import Layout
from policyd._core.eval.logic import And
from policyd._core.eval.nodes import Const, Node
from policyd._core.eval.program import Program, render
from policyd._core.eval.tracing import Tracer
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.plan.specialise import conjunction
from policyd.cel.trace.tracing import plan_traced
from policyd.cel.types.types import DYN
from policyd.errors import BudgetExceeded

ENVIRONMENT = Environment.kubernetes().extend({"other": DYN})
NAMES = ("a", "b", "c")
LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(("", "a", "ab", "äb", "b𝄞", "a" * 40))
)
VALUES = st.recursive(
    LEAVES,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), below, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), below, min_size=3)
    ),
    max_leaves=12,
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(".".join)
ROOTS = st.sampled_from(("object", "object", "object", "other"))


@st.composite
def terms(draw: st.DrawFn) -> str:
    path = f"{draw(ROOTS)}.{draw(PATHS)}"
    form = draw(
        st.sampled_from(
            (
                "has({0})",
                "has({0})",
                "'{1}' in {0}",
                "{0}.startsWith('{2}')",
                "{0}.endsWith('{2}')",
                "{0}.contains('{2}')",
                "{0} == '{2}'",
                "{0}",
            )
        )
    )
    text = draw(st.sampled_from(("", "a", "b", "ä", "𝄞", "a" * 12)))
    return form.format(path, draw(st.sampled_from(NAMES)), text)


CONJUNCTIONS = st.lists(terms(), min_size=1, max_size=5).map(" && ".join)


def outcome(program: Program, variables: dict[str, Any], limit: int) -> tuple[object, ...]:
    try:
        value, cost = program.evaluate_with_cost(variables, cost_limit=limit)
    except BudgetExceeded as exceeded:
        return (str(exceeded),)
    return type(value), render(value), cost


@given(CONJUNCTIONS, VALUES, VALUES, st.just(1_000_000) | st.integers(0, 15))
def test_the_same_value_error_and_cost(text: str, first: Any, second: Any, limit: int) -> None:
    checked = ENVIRONMENT.check(text)
    variables = {"object": first, "other": second}
    plain = plan_traced(checked, Layout(), Tracer())
    found = outcome(plan(checked, Layout()), variables, limit)
    assert found == outcome(plain, variables, limit), text


@given(CONJUNCTIONS, st.lists(VALUES, max_size=4))
def test_the_same_in_each_round_of_a_fold(text: str, items: list[Any]) -> None:
    each = text.replace("object", "c").replace("other", "c")
    for macro in ("all", "exists", "exists_one"):
        checked = ENVIRONMENT.check(f"object.items.{macro}(c, {each})")
        variables = {"object": {"items": items}}
        plain = plan_traced(checked, Layout(), Tracer())
        found = outcome(plan(checked, Layout()), variables, 1_000_000)
        assert found == outcome(plain, variables, 1_000_000), each


def test_a_variable_without_value_is_named() -> None:
    for text in ("has(object.a) && has(object.a.b)", "object.a.startsWith('a')", "'a' in object.b"):
        checked = ENVIRONMENT.check(text)
        found = outcome(plan(checked, Layout()), {}, 1_000_000)
        assert found == outcome(plan_traced(checked, Layout(), Tracer()), {}, 1_000_000)
        assert "no such attribute(s): object" in str(found[1])


def has(*fields: str, slot: int = 0) -> HasPathNode:
    return HasPathNode(slot, "object", fields)


@pytest.mark.parametrize(
    ("nodes", "keys"),
    [
        ([has("a"), has("a", "b")], ("a", "b")),
        ([has("x", "a"), has("x", "a", "b")], ("a", "b")),
        ([has("a"), has("b")], ("a", "b")),
        ([has("a"), has("b", "c")], ("a", "b", "c")),
        ([has("a"), has("a", "b", "c"), has("a", "b", "d")], ("a", "b", "c", "d")),
    ],
)
def test_tests_along_one_path_are_one_walk(nodes: list[Node], keys: tuple[str, ...]) -> None:
    made = conjunction(nodes)
    assert isinstance(made, PathTests)
    assert made.keys == keys
    assert made.terms == tuple(nodes)


def test_other_terms_stay_between_walks() -> None:
    other = Const(True)
    made = conjunction([has("a"), has("a", "b"), other, has("a", "c"), has("d", slot=1)])
    assert isinstance(made, And)
    assert [type(term) for term in made.terms] == [PathTests, Const, HasPathNode, HasPathNode]

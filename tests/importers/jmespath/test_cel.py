"""The opposite of CEL is readable and exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cel import Environment
from policyd.export.expressions.cel import TERNARY, TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, negated, some

NAMES = ("a", "b", "c")
A, B, C = map(Cel, NAMES)


@pytest.mark.parametrize(
    ("cel", "opposite"),
    [
        (relation("a", "==", "b"), "a != b"),
        (relation("a", "<", "b"), "a >= b"),
        (relation("a", "in", "b"), "!(a in b)"),
        (negated(A), "a"),
        (every(A, B), "!a || !b"),
        (every(A, some(B, C)), "!a || (!b && !c)"),
        (some(A, every(B, C)), "!a && (!b || !c)"),
        (Cel("a ? b : c", TERNARY), "!(a ? b : c)"),
        (some(negated(Cel("a ? b : c", TERNARY)), A), "(a ? b : c) && !a"),
        (TRUE, "false"),
    ],
)
def test_opposites(cel: Cel, opposite: str) -> None:
    assert negated(cel).text == opposite


def _operators(inner: st.SearchStrategy[Cel]) -> st.SearchStrategy[Cel]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda pair: every(*pair)),
        pairs.map(lambda pair: some(*pair)),
        pairs.map(lambda pair: relation(f"({pair[0].text})", "==", f"({pair[1].text})")),
        pairs.map(lambda pair: Cel(f"a ? ({pair[0].text}) : ({pair[1].text})", TERNARY)),
        inner.map(negated),
    )


@given(st.recursive(st.sampled_from([A, B, C, TRUE]), _operators, max_leaves=6))
def test_the_opposite_of_any_expression(cel: Cel) -> None:
    always = f"({cel.text}) != ({negated(cel).text})"
    for name in NAMES:
        always = f"[true, false].all({name}, {always})"
    assert Environment.kubernetes().compile(always).evaluate({"object": None}) is True, always

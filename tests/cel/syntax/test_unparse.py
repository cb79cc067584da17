"""Syntax trees as text: what is written means what was parsed."""

import dataclasses
from typing import Any

import pytest

from policyd.cel.syntax.ast import Expr
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.unparse import unparse
from policyd.errors import CelCompileError
from tests.fuzz import questions
from tests.sampling import portion

SAME = [
    "object.spec.containers.all(c, c.image.startsWith(\"a\") && !has(c.ports))",
    "a ? b : c ? d : e",
    "(a ? b : c) ? d : e",
    "(a || b) && c || d",
    "a - (b - c) - d",
    "-(-a)",
    "!(a == b)",
    "(a + b).c[0][?1].?d",
    "a.map(x, x > 1, x * 2).filter(y, y != 3).exists(z, z == 4)",
    "a.exists_one(i, v, i == v)",
    "a.transformMap(k, v, k != 'x\"', v)",
    "a.transformList(k, v, v)",
    "a.transformMapEntry(k, v, {v: k})",
    "a.sortBy(x, x.name).size()",
    "a.?b.optMap(x, x + 1).orValue(2)",
    "a.?b.optFlatMap(x, x.?c)",
    "[1, ?a, 2u, 1.5, b\"\\x00x\", null]",
    "{\"a\": 1, ?b: c}",
    "Object.spec{replicas: 1, ?paused: a}",
    "sets.contains([1], [2])",
    "a in [1, 2]",
    "(-1).foo(-2)",
    "!(!a) || -(1) < 2",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_text_in_the_usual_form_stays(text: str) -> None:
    assert unparse(parse(text)) == text


def test_lines_and_quotes_become_one_form() -> None:
    assert unparse(parse("a\n  .b == 'x' // why\n  && (c)")) == 'a.b == "x" && c'


def shape(value: Any) -> Any:
    """A tree without ids and places."""
    if dataclasses.is_dataclass(value):
        skipped = ("id", "pos")
        fields = [f for f in dataclasses.fields(value) if f.name not in skipped]
        return type(value).__name__, tuple(shape(getattr(value, f.name)) for f in fields)
    if isinstance(value, tuple):
        return tuple(map(shape, value))
    return repr(value) if not isinstance(value, str) else value


def parsed(text: str) -> Expr | None:
    try:
        return parse(text)
    except CelCompileError:
        return None


@pytest.mark.parametrize("make", [questions.typed, questions.untyped, questions.admission])
def test_what_is_written_parses_to_the_same_tree(make: Any) -> None:
    compared = 0
    for question in make(portion(1500), 3):
        tree = parsed(question["expression"])
        if tree is not None:
            again = parse(unparse(tree))
            assert unparse(again) == unparse(tree)
            # Chains of && and || are grouped anew.
            if "&&" not in unparse(tree) and "||" not in unparse(tree):
                assert shape(again) == shape(tree), question["expression"]
            compared += 1
    assert compared > portion(1500) * 2 // 3

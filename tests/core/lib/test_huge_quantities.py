"""Quantities of absurd size: values or errors of CEL, never an exception of Python."""

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import render
from policyd._core.plan.plan import ROOTS
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan


def text(expression: str, value: str) -> str:
    program = plan(Environment.admission().check(expression), Layout(ROOTS))
    found, _ = program.evaluate_with_cost({"object": {"a": value}})
    return render(found)


@pytest.mark.parametrize(
    ("value", "order"),
    [
        ("9" * 3999, "1"),
        ("-" + "9" * 3999, "-1"),
        ("1234567890123456789e99999", "1"),
        ("1e99999", "1"),
        ("0." + "0" * 3900 + "1", "-1"),
        ("1.0000000000", "0"),
        ("9." + "9" * 3000, "1"),
        ("9" * 5000, "unable to parse quantity's suffix"),
        ("9" * 5000 + "Ki", "unable to parse quantity's suffix"),
        ("0." + "1" * 5000, "unable to parse quantity's suffix"),
        ("1e" + "9" * 5000, "unable to parse quantity's suffix"),
    ],
)
def test_huge_quantities_are_ordered_or_errors(value: str, order: str) -> None:
    assert text("quantity(object.a).compareTo(quantity('1'))", value) == order


def test_huge_quantities_are_ordered_among_themselves() -> None:
    expression = "quantity(object.a).compareTo(quantity('1234567890123456789e99998'))"
    assert text(expression, "12345678901234567890e99997") == "0"
    assert text(expression, "12345678901234567891e99997") == "1"
    assert text(expression, "12345678901234567889e99997") == "-1"
    assert text(expression, "1234567890123456789e99997") == "-1"

"""The measuring loop runs what it measures."""

import pytest

from policyd._core.eval.program import nanoseconds
from policyd.cel.env import Environment
from policyd.errors import CostExceeded


def test_time_of_a_round_is_positive() -> None:
    program = Environment.kubernetes().compile("object.a == 1")
    assert nanoseconds((program,), {"object": {"a": 1}}, rounds=10) > 0


def test_limits_hold_while_measuring() -> None:
    program = Environment.kubernetes().compile("object.all(a, object.all(b, a + b >= 0))")
    with pytest.raises(CostExceeded):
        nanoseconds((program,), {"object": list(range(1_000))}, rounds=1)

"""No function of CEL takes more than linear time, or outlives its deadline, whatever it is called with."""

import pytest

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.syntax.macros import RECEIVER_MACROS
from tests.core.lib.hostile import ALLOWANCE, DEADLINE, FORMS, cases, slowest
from tests.sampling import sampled, share

pytestmark = pytest.mark.usefixtures("collected")
# What is quadratic takes seconds with the last one of either; making the largest values takes longest.
SIZES = (10_000, 100_000, 1_000_000) if share() == 1 else (30_000, 300_000)
GROWTH = 10 * 4  # ten times the data may take so many times as long
SHORT = 20_000_000  # nanoseconds in which the machine is too inexact to be compared


@pytest.mark.parametrize("name", sampled(cases()))
def test_time_is_linear_or_ended_by_a_budget(name: str) -> None:
    before = None
    for size in SIZES:
        found = slowest(cases()[name], size)
        assert found.nanos < DEADLINE + ALLOWANCE, (size, found)
        if before is not None and not before.ended and not found.ended:
            assert found.nanos < max(GROWTH * before.nanos, SHORT), (size, before, found)
        before = found


def test_every_form_of_the_planner_has_a_case() -> None:
    declared = {
        overload.name
        for library in KNOWN_LIBRARIES
        for overload in library.overloads
        if not overload.runs
    }
    assert declared <= FORMS.keys()


def test_every_macro_has_a_case() -> None:
    assert {"has", *(name for name, _ in RECEIVER_MACROS)} <= FORMS.keys()

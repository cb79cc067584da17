"""The clock that decides about certificates, which is not that of the node."""

from dataclasses import dataclass

import pytest

from policyd.controllers.clocks import ServerClock
from policyd.json_types import JSONObject

STORED = {
    "metadata": {
        "managedFields": [
            {"manager": "policyd", "time": "2026-11-22T22:00:00Z"},
            {"manager": "other", "time": "2026-11-20T22:00:00Z"},
            {"manager": "none"},
        ]
    }
}
SHOWN = 1_795_384_800.0


@dataclass
class Clock:
    """A clock that stands still."""

    now: float

    def __call__(self) -> float:
        return self.now


# What the own clock is ahead of the API server, and whether it is used.
AHEAD = [(-7e6, False), (-2.0, False), (-0.5, True), (0.0, True), (2.5, True), (4.0, False)]


@pytest.mark.parametrize(("ahead", "used"), [*AHEAD, (9e6, False)])
def test_the_own_clock_counts_while_it_agrees_with_the_api_server(ahead: float, used: bool) -> None:
    elapsed, own = Clock(5.0), Clock(SHOWN + ahead)
    clock = ServerClock(elapsed, own)
    assert clock() == own.now
    clock.saw(STORED)
    assert clock() == (own.now if used else SHOWN)


@pytest.mark.parametrize("jump", [-9e8, -100.0, 100.0, 9e8])
def test_a_jump_of_the_own_clock_changes_nothing(jump: float) -> None:
    elapsed, own = Clock(5.0), Clock(SHOWN)
    clock = ServerClock(elapsed, own)
    clock.saw(STORED)
    own.now += jump
    elapsed.now += 60
    assert clock() == SHOWN + 60


def test_objects_without_times_change_nothing() -> None:
    clock = ServerClock(Clock(0.0), Clock(SHOWN))
    rows: list[JSONObject] = [{}, {"metadata": {}}, {"metadata": {"managedFields": []}}]
    for stored in rows:
        clock.saw(stored)
        assert clock() == SHOWN

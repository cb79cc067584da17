"""How many Events a namespace, and all together, may write."""

from policyd.controllers.events.pace import (
    BURST,
    NAMESPACE_BURST,
    NAMESPACE_SECONDS,
    EventPace,
)
from tests.controllers.events.denied import HandClock


def taken(pace: EventPace, namespace: str, tries: int = 1000) -> int:
    return sum(pace.take(namespace) for _ in range(tries))


def test_a_namespace_takes_nothing_of_others() -> None:
    clock = HandClock()
    pace = EventPace(clock)
    assert taken(pace, "noisy") == NAMESPACE_BURST
    assert taken(pace, "quiet", 1) == 1
    clock.now = 2.5 * NAMESPACE_SECONDS
    assert taken(pace, "noisy") == 2


def test_all_namespaces_share_a_limit() -> None:
    clock = HandClock()
    pace = EventPace(clock)
    names = [f"n{number}" for number in range(BURST)]
    assert sum(taken(pace, name) for name in names) == BURST
    clock.now = 1.0
    assert sum(taken(pace, name) for name in names) == 5


def test_a_write_that_all_may_not_have_costs_the_namespace_nothing() -> None:
    clock = HandClock()
    pace = EventPace(clock)
    for number in range(BURST):
        pace.take(f"n{number}")
    assert taken(pace, "late") == 0
    clock.now = 60.0
    assert taken(pace, "late") == NAMESPACE_BURST


def test_full_buckets_are_forgotten() -> None:
    clock = HandClock()
    pace = EventPace(clock)
    pace.take("a")
    taken(pace, "b")
    clock.now = NAMESPACE_SECONDS
    pace.tidy()
    assert [*pace._namespaces] == ["b"]
    assert taken(pace, "b") == 1

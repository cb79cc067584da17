"""How many Events a namespace, and all together, may write."""

from policyd.controllers.events.series import (
    BURST,
    NAMESPACE_BURST,
    NAMESPACE_SECONDS,
    EventQuota,
)
from tests.controllers.events.denied import HandClock


def taken(quota: EventQuota, namespace: str, tries: int = 1000) -> int:
    return sum(quota.take(namespace) for _ in range(tries))


def test_all_namespaces_share_a_limit() -> None:
    clock = HandClock()
    quota = EventQuota(clock)
    names = [f"n{number}" for number in range(BURST)]
    assert sum(taken(quota, name) for name in names) == BURST
    clock.now = 1.0
    assert sum(taken(quota, name) for name in names) == 5


def test_a_write_that_all_may_not_have_costs_the_namespace_nothing() -> None:
    clock = HandClock()
    quota = EventQuota(clock)
    for number in range(BURST):
        quota.take(f"n{number}")
    assert taken(quota, "late") == 0
    clock.now = 60.0
    assert taken(quota, "late") == NAMESPACE_BURST


def test_full_buckets_are_forgotten() -> None:
    clock = HandClock()
    quota = EventQuota(clock)
    quota.take("a")
    taken(quota, "b")
    clock.now = NAMESPACE_SECONDS
    quota.tidy()
    assert [*quota._namespaces] == ["b"]
    assert taken(quota, "b") == 1

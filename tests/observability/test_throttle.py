"""How many lines about the same thing the log gets."""

from policyd.observability.throttle import LineLimit, Throttle


def test_each_kind_once_in_a_period() -> None:
    now = [0.0]
    throttle = Throttle(60, lambda: now[0])
    assert [throttle.count(kind) for kind in "aab"] == [1, 0, 1]
    now[0] = 60
    assert [throttle.count(kind) for kind in "ab"] == [2, 1]


def test_kinds_that_clients_choose_are_limited_together() -> None:
    now = [0.0]
    limit = LineLimit(3, 60, lambda: now[0])
    assert [limit.take(kind) for kind in "abacde"] == [0, 0, None, 1, None, None]
    now[0] = 59
    assert limit.take("f") is None
    now[0] = 60
    assert [limit.take(kind) for kind in "fa"] == [3, 0]


def test_a_flood_of_kinds_takes_no_memory() -> None:
    limit = LineLimit(3, 60, lambda: 0.0)
    for kind in range(10_000):
        limit.take(kind)
    assert len(limit._logged) == 3

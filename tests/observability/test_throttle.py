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
    assert [limit.take(404, kind) for kind in "abacde"] == [0, 0, None, 1, None, None]
    now[0] = 59
    assert limit.take(404, "f") is None
    now[0] = 60
    assert [limit.take(404, kind) for kind in "fa"] == [3, 0]


def test_one_group_takes_no_line_of_another() -> None:
    limit = LineLimit(3, 60, lambda: 0.0)
    for kind in range(10):
        limit.take(404, kind)
    assert [limit.take(503, kind) for kind in "ab"] == [7, 0]


def test_a_flood_of_kinds_takes_no_memory() -> None:
    limit = LineLimit(3, 60, lambda: 0.0)
    for kind in range(10_000):
        limit.take(404, kind)
    assert {group: len(kinds) for group, kinds in limit._logged.items()} == {404: 3}

"""The pace of requests, with a clock that only moves while somebody sleeps."""

import pytest

from policyd.reports.paced_requests import RequestPace


class Clock:
    """A time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sleeps = 0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= 0.1  # a signal ends a wait soon
        self.now += seconds
        self.sleeps += 1


@pytest.mark.parametrize(("rate", "burst"), [(20, 20), (0.5, 1), (1, 1), (1000, 1000)])
def test_after_a_burst_requests_come_at_the_rate(rate: float, burst: int) -> None:
    clock = Clock()
    pace = RequestPace(rate, lambda: False, clock=clock, sleep=clock.sleep)
    for _ in range(burst):
        pace.take()
    assert clock.now == 100
    for _ in range(30):
        pace.take()
    assert clock.now - 100 == pytest.approx(30 / rate)


def test_a_quiet_time_saves_no_more_than_a_burst() -> None:
    clock = Clock()
    pace = RequestPace(10, lambda: False, clock=clock, sleep=clock.sleep)
    clock.now += 1000
    for _ in range(20):
        pace.take()
    assert clock.now - 1100 == pytest.approx(1)


def test_no_wait_goes_on_after_the_end() -> None:
    clock = Clock()
    stopped: list[bool] = []
    pace = RequestPace(
        1, lambda: clock.sleeps >= 3 or bool(stopped), clock=clock, sleep=clock.sleep
    )
    pace.pause(60)
    assert clock.sleeps == 3
    stopped.append(True)
    pace.take()
    pace.take()
    assert clock.sleeps == 3

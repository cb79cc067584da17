"""Token buckets, with a clock that is moved by hand."""

import pytest

from policyd.token_bucket import TokenBucket
from tests.controllers.events.denied import HandClock


@pytest.mark.parametrize(
    ("seconds", "tokens"), [(0.0, 0), (1.9, 0), (2.0, 1), (5.0, 2), (6.0, 3), (1000.0, 3)]
)
def test_a_bucket_fills_again_up_to_its_burst(seconds: float, tokens: int) -> None:
    clock = HandClock()
    bucket = TokenBucket(3, 2.0, clock)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    clock.now = seconds
    assert sum(bucket.take() for _ in range(10)) == tokens

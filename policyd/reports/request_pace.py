"""How many requests a second a run sends. Sends nothing."""

import time
from collections.abc import Callable

from policyd.token_bucket import TokenBucket

# The longest sleep, after which it is checked whether the run should stop.
_SLICE = 0.1


class RequestPace:
    """Allows ``rate`` requests a second, and after a quiet time a second's worth at once.

    ``stopped``: whether the run should end, which ends every wait early.
    """

    def __init__(
        self,
        rate: float,
        stopped: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bucket = TokenBucket(max(1.0, rate), 1 / rate, clock)
        self._stopped = stopped
        self._clock = clock
        self._sleep = sleep

    def take(self) -> None:
        """Wait until the next request may be sent."""
        if not self._bucket.take():
            self.pause(self._bucket.wait)
            self._bucket.take()

    def pause(self, seconds: float) -> None:
        """Wait, but not after the run should have ended."""
        end = self._clock() + seconds
        while not self._stopped() and (left := end - self._clock()) > 0:
            self._sleep(min(left, _SLICE))

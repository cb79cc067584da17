"""A token bucket: how many requests a second are sent. Sends nothing."""

import time
from collections.abc import Callable

# The longest sleep, after which it is checked whether the run should stop.
_SLICE = 0.1


class TokenBucket:
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
        self._rate = rate
        self._burst = max(1.0, rate)
        self._tokens = self._burst
        self._stopped = stopped
        self._clock = clock
        self._sleep = sleep
        self._filled = clock()

    def take(self) -> None:
        """Wait for the next token, and take it."""
        self._fill()
        if self._tokens < 1:
            self.pause((1 - self._tokens) / self._rate)
            self._fill()
        self._tokens -= 1

    def pause(self, seconds: float) -> None:
        """Wait, but not after the run should have ended."""
        end = self._clock() + seconds
        while not self._stopped() and (left := end - self._clock()) > 0:
            self._sleep(min(left, _SLICE))

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now

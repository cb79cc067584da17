"""Token buckets: limit how many events may happen at once, and at which rate after that."""

from collections.abc import Callable
from time import monotonic

# A whole token apart from rounding errors of times.
_WHOLE = 1 - 1e-6
# Addresses in memory before quiet ones are dropped.
REMEMBERED = 1024


class TokenBucket:
    """Holds up to ``burst`` tokens, initially full; gains one in so many seconds."""

    def __init__(
        self, burst: float, seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._burst = burst
        self._seconds = seconds
        self._clock = clock
        self._tokens = float(burst)
        self._at = clock()

    @property
    def tokens(self) -> float:
        """Return the number of tokens."""
        now = self._clock()
        added = (now - self._at) / self._seconds
        self._tokens, self._at = min(self._burst, self._tokens + added), now
        return self._tokens

    @property
    def full(self) -> bool:
        """Return whether no token is missing."""
        return self.tokens >= self._burst

    @property
    def wait(self) -> float:
        """Return the seconds until a whole token is available."""
        return max(0.0, 1 - self.tokens) * self._seconds

    def take(self) -> bool:
        """Take a token if there is one."""
        if self.tokens < _WHOLE:
            return False
        self._tokens -= 1
        return True


class AddressPace:
    """A bucket for each client address: ``burst`` at once, ``rate`` per second after that."""

    def __init__(self, burst: float, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst = burst
        self._rate = rate
        self._clock = clock
        # When each address will have paid for its tokens at ``rate`` (a leaky bucket).
        self._paid_at: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._paid_at)

    def take(self, address: str) -> bool:
        """Take a token of an address if it has one."""
        now = self._clock()
        even = max(now, self._paid_at.get(address, 0.0)) + 1 / self._rate
        if even - now > self._burst / self._rate:
            return False
        if len(self._paid_at) >= REMEMBERED:
            self._paid_at = {each: then for each, then in self._paid_at.items() if then > now}
        self._paid_at[address] = even
        return True

"""How many Events may be written: token buckets, one of each namespace and one of all."""

from collections.abc import Callable
from time import monotonic

# A namespace may have so many Events at once, and then one in so many seconds.
NAMESPACE_BURST, NAMESPACE_SECONDS = 20, 3.0
# All namespaces together.
BURST, SECONDS = 100, 0.2


class TokenBucket:
    """Holds up to ``burst`` tokens, full at first; one is added in so many seconds."""

    def __init__(self, burst: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst = burst
        self._seconds = seconds
        self._clock = clock
        self._tokens = float(burst)
        self._at = clock()

    @property
    def tokens(self) -> float:
        """Return how many tokens there are."""
        now = self._clock()
        added = (now - self._at) / self._seconds
        self._tokens, self._at = min(self._burst, self._tokens + added), now
        return self._tokens

    @property
    def full(self) -> bool:
        """Return whether no token is missing."""
        return self.tokens >= self._burst

    def take(self) -> bool:
        """Take a token if there is one."""
        if self.tokens < 1:
            return False
        self._tokens -= 1
        return True


class EventPace:
    """Decides whether an Event of a namespace may be written now."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._all = TokenBucket(BURST, SECONDS, clock)
        # Only those that are not full: of namespaces that had an Event within a minute.
        self._namespaces: dict[str, TokenBucket] = {}

    def take(self, namespace: str) -> bool:
        """Take one write of this namespace if it has one, and all have one."""
        bucket = self._namespaces.get(namespace)
        if bucket is None:
            bucket = TokenBucket(NAMESPACE_BURST, NAMESPACE_SECONDS, self._clock)
        if self._all.tokens < 1 or not bucket.take():
            return False
        self._namespaces[namespace] = bucket
        return self._all.take()

    def tidy(self) -> None:
        """Forget the buckets that are full again."""
        self._namespaces = {
            name: bucket for name, bucket in self._namespaces.items() if not bucket.full
        }

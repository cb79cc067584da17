"""How many Events may be written: token buckets, one of each namespace and one of all."""

from collections.abc import Callable
from time import monotonic

from policyd.token_bucket import TokenBucket

# A namespace may have so many Events at once, and then one in so many seconds.
NAMESPACE_BURST, NAMESPACE_SECONDS = 20, 3.0
# All namespaces together.
BURST, SECONDS = 100, 0.2


class EventQuota:
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

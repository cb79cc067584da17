"""Bounded work: how many requests, and how many bytes of them, are under way at a time.

Everything runs on one event loop, so plain integers are exact without a lock.
"""

from typing import Literal


class InFlight:
    """Counts what is under way and says when there is no room for more."""

    __slots__ = ("bytes", "max_bytes", "max_requests", "requests")

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self.max_requests = max_requests
        self.max_bytes = max_bytes
        self.requests = 0
        self.bytes = 0

    def enter(self, size: int) -> "Room | Literal['requests', 'bytes']":
        """Room for a request of ``size`` bytes, or what there is too much of."""
        if self.requests >= self.max_requests:
            return "requests"
        if self.bytes + size > self.max_bytes:
            return "bytes"
        self.requests += 1
        self.bytes += size
        return Room(self, size)


class Room:
    """What one request takes of the whole until it leaves."""

    __slots__ = ("_in_flight", "_size")

    def __init__(self, in_flight: InFlight, size: int) -> None:
        self._in_flight = in_flight
        self._size = size

    def hold(self, size: int) -> bool:
        """Make room for ``size`` bytes in all; False if there is not enough."""
        more = size - self._size
        if more > 0:
            if self._in_flight.bytes + more > self._in_flight.max_bytes:
                return False
            self._in_flight.bytes += more
            self._size = size
        return True

    def leave(self) -> None:
        """Give it back."""
        self._in_flight.requests -= 1
        self._in_flight.bytes -= self._size

"""Numbers in memory that all workers share, and read and write without locks.

Each worker writes its own; a number has eight bytes, which processors write atomically.
"""

import math
import mmap

_STOPPING, _CLOSING = 1.0, 2.0


class Board:
    """Created by the supervisor before it starts the workers."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        memory = mmap.mmap(-1, 8 * (1 + 2 * workers))
        self._numbers = memoryview(memory).cast("d")
        for worker in range(workers):
            self.leave(worker)

    def leave(self, worker: int) -> None:
        """Record that the worker does not accept connections."""
        self._numbers[1 + worker] = math.inf

    def opened(self, worker: int, connections: int) -> None:
        """Record that the worker accepts connections, and the number of open ones."""
        self._numbers[1 + worker] = connections

    def is_least(self, worker: int) -> bool:
        """Whether no other worker that accepts connections has fewer."""
        counts = self._numbers[1 : 1 + self._workers]
        return counts[worker] <= min(counts)

    def requested(self, worker: int, at: float) -> None:
        """Record when (monotonic clock) the worker last received a request while draining."""
        self._numbers[1 + self._workers + worker] = at

    @property
    def last_request(self) -> float:
        """When a draining worker last received a request."""
        return max(self._numbers[1 + self._workers :])

    def stop(self) -> None:
        """Make all workers drain, because the server stops."""
        self._numbers[0] = max(self._numbers[0], _STOPPING)

    @property
    def stopping(self) -> bool:
        """Whether the server stops."""
        return self._numbers[0] >= _STOPPING

    def close_ports(self) -> None:
        """Notify all workers that the quiet period is over."""
        self._numbers[0] = _CLOSING

    @property
    def closing(self) -> bool:
        """Whether the quiet period is over."""
        return self._numbers[0] == _CLOSING

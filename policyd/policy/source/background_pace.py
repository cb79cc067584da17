"""Throttle a background thread, so that requests do not wait long for it.

Only one thread runs Python code at a time; on a node with busy processors, or under a CPU quota,
two busy threads slow each other down even more.
"""

import time
from collections.abc import Callable

# Seconds of work between two pauses: about one policy. A request waits no longer than this.
PIECE = 0.001
# Seconds of pause for each second of work: 100 policies stay well under a second.
REST = 1.0


def full_speed() -> None:
    """Do not pause: no requests are waiting."""


class Pace:
    """Called by one thread between small pieces of work; pauses after each ``PIECE`` of work.

    ``worked`` returns the processor time of the thread in seconds.
    """

    def __init__(
        self,
        worked: Callable[[], float] = time.thread_time,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self._worked = worked
        self._rest = rest
        self._since = worked()

    def __call__(self) -> None:
        """Pause if it is time."""
        piece = self._worked() - self._since
        if piece >= PIECE:
            self._rest(piece * REST)
            self._since = self._worked()

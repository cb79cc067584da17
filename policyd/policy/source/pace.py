"""Work beside requests: a thread that rests in between, so that nobody waits long for it.

While Python code of one thread runs, no other thread's does; on a node whose processors are all
taken, or under a quota, two busy threads slow each other down even more.
"""

import time
from collections.abc import Callable

# Seconds of work between two rests: about one policy. A request waits no longer than this.
PIECE = 0.001
# Seconds of rest for each second of work: 100 policies stay well under a second.
REST = 1.0


def full_speed() -> None:
    """No rest: nobody waits."""


class Pace:
    """Called between small pieces of work, by one thread; rests when it has worked for a while.

    ``worked`` gives the processor time of the thread in seconds.
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
        """Rest if it is time."""
        piece = self._worked() - self._since
        if piece >= PIECE:
            self._rest(piece * REST)
            self._since = self._worked()

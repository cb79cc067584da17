"""Turns of evaluation: decides, when the process is busy, which request is evaluated next, and
which is refused.

Evaluation blocks the event loop. Without turns, all requests that were read together would be
evaluated before the next ones are read: the deadlines of the latter would pass unnoticed, and no
limit would count them. So after TURN_NS of evaluation the others wait in a queue, and the loop
reads its sockets again.

The client addresses in the queue are served in turn, so that a busy client only delays itself. A
request that cannot be evaluated in time, at the current evaluation rate, is refused at once: it
would only take time from others.
"""

import asyncio
from collections import deque
from time import perf_counter_ns
from typing import Literal

from policyd.http.limits import Peer

# Nanoseconds of evaluation before the event loop reads its sockets again. A request may arrive this
# long before policyd notices it; the margin of a 1 s timeout is twice as long.
TURN_NS = 50_000_000
# The rate is the median of so many turns: a single slow request does not make policyd refuse those
# after it.
TURNS = 5
# A request is refused if its turn would come after its deadline at a rate slower by this factor: an
# evaluation that is cut off at the deadline has also taken time from others.
SLACK = 1.5

_Waiting = tuple[asyncio.Future[None], int]


class EvaluationTurns:
    """The requests that wait to be evaluated."""

    __slots__ = ("_began", "_paces", "_queues", "_taken", "_ticking", "waiting")

    def __init__(self) -> None:
        # By address; the first one is served next.
        self._queues: dict[Peer, deque[_Waiting]] = {}
        self.waiting = 0
        # Nanoseconds per request in each of the last turns, including all other work.
        self._paces: deque[float] = deque(maxlen=TURNS)
        self._began = 0
        self._taken = 0
        self._ticking = False

    def take(self, peer: Peer, deadline: int) -> "asyncio.Future[None] | Literal[False] | None":
        """Return None to evaluate now, a future to wait for first, or False if the request cannot
        be evaluated before ``deadline``, a ``perf_counter_ns`` time.
        """
        now = perf_counter_ns()
        if self._is_open(now) or now >= deadline:
            self._taken += 1
            return None
        queue = self._queues.get(peer)
        own = 0 if queue is None else len(queue)
        before = sum(min(len(each), own + 1) for each in self._queues.values())
        if now + (before + 2) * self._pace() * SLACK > deadline:
            return False
        if queue is None:
            queue = self._queues[peer] = deque()
        future = asyncio.get_running_loop().create_future()
        queue.append((future, deadline))
        self.waiting += 1
        return future

    def take_if_open(self) -> bool:
        """Whether no request waits and the turn has time left: then evaluate now."""
        if not self._is_open(perf_counter_ns()):
            return False
        self._taken += 1
        return True

    def _is_open(self, now: int) -> bool:
        if not self._ticking:
            self._ticking = True
            self._began, self._taken = now, 0
            asyncio.get_running_loop().call_soon(self._next)
        return not self.waiting and now - self._began < TURN_NS

    def _pace(self) -> float:
        return sorted(self._paces)[(len(self._paces) - 1) // 2] if self._paces else 0.0

    def _next(self) -> None:
        """End the turn: the woken requests are evaluated."""
        now = perf_counter_ns()
        if self._taken:
            self._paces.append((now - self._began) / self._taken)
        if not self.waiting:
            self._ticking = False
            return
        self._began, self._taken = now, 0
        # Two rounds of the loop: in one it reads the sockets, in the next the new requests begin to
        # wait. Otherwise a client with few requests would wait for two more turns.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._choose)

    def _choose(self) -> None:
        self._wake_late(perf_counter_ns())
        most = TURN_NS / max(self._pace(), 1.0)
        while self.waiting and (self._taken < most or not self._taken):
            self._wake_one()
        # Runs after the requests that were just woken, and before the sockets are read.
        asyncio.get_running_loop().call_soon(self._next)

    def _wake_one(self) -> None:
        peer, queue = next(iter(self._queues.items()))
        del self._queues[peer]
        future, _ = queue.popleft()
        self.waiting -= 1
        if queue:
            self._queues[peer] = queue  # behind the others
        self._wake(future)

    def _wake_late(self, now: int) -> None:
        """Wake requests after their deadline: they are answered without an evaluation."""
        for peer, queue in tuple(self._queues.items()):
            if all(deadline > now for _, deadline in queue):
                continue
            self._queues[peer] = left = deque(each for each in queue if each[1] > now)
            self.waiting -= len(queue) - len(left)
            for future, deadline in queue:
                if deadline <= now:
                    self._wake(future)
            if not left:
                del self._queues[peer]

    def _wake(self, future: asyncio.Future[None]) -> None:
        if not future.done():  # cancelled, with its connection
            self._taken += 1
            future.set_result(None)

"""Turns of evaluation: when the process is busy, who is evaluated next, and who is not at all.

Evaluation blocks the event loop. Without turns, all requests that were read together would be
evaluated before the next ones are read, however long that takes: their time would run unseen, and
no limit would count them. So after TURN_NS of evaluation the others wait in a queue, and the loop
looks at its sockets again.

The client addresses in the queue are served in turn, so that one that sends much delays itself.
A request that cannot be evaluated in time, at the pace of the last turns, is refused at once: it
would only take the time of others.
"""

import asyncio
from collections import deque
from time import perf_counter_ns
from typing import Literal

from policyd.http.limits import Peer

# Nanoseconds of evaluation before the event loop looks at its sockets. A request may arrive this
# long before its time begins to run; the margin of a timeout of 1 s is twice as long.
TURN_NS = 50_000_000
# The pace is the median of so many turns: a single request that takes long does not make policyd
# refuse those after it.
TURNS = 5
# A request is refused if its turn would come later than its deadline at a pace slower by this: an
# evaluation that is cut at the deadline has also taken the time of others.
SLACK = 1.5

_Waiting = tuple[asyncio.Future[None], int]


class EvaluationTurns:
    """The requests that wait to be evaluated."""

    __slots__ = ("_began", "_paces", "_queues", "_taken", "_ticking", "waiting")

    def __init__(self) -> None:
        # By address; the first one is served next.
        self._queues: dict[Peer, deque[_Waiting]] = {}
        self.waiting = 0
        # Nanoseconds that a request took in each of the last turns, with all that is done
        # beside it.
        self._paces: deque[float] = deque(maxlen=TURNS)
        self._began = 0
        self._taken = 0
        self._ticking = False

    def take(self, peer: Peer, deadline: int) -> "asyncio.Future[None] | Literal[False] | None":
        """None: evaluate now. A future: wait for it first. False: it cannot be evaluated before
        ``deadline``, a time of perf_counter_ns.
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
        """Whether nobody waits and the turn has time left: then evaluate now."""
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
        """The turn is over: those that were woken are evaluated."""
        now = perf_counter_ns()
        if self._taken:
            self._paces.append((now - self._began) / self._taken)
        if not self.waiting:
            self._ticking = False
            return
        self._began, self._taken = now, 0
        # Two rounds of the loop: in one it reads the sockets, in the next what was read begins to
        # wait. Otherwise a client with few requests would wait for two turns more.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._choose)

    def _choose(self) -> None:
        self._wake_late(perf_counter_ns())
        most = TURN_NS / max(self._pace(), 1.0)
        while self.waiting and (self._taken < most or not self._taken):
            self._wake_one()
        # After the requests that were just woken, and before the sockets.
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
        """Wake those whose time is over: they are answered without an evaluation."""
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

"""Keeps the issuer's keys current: reads them regularly, and at once when a token names a new key.

Few requests may wait for a key, and only briefly. If reading fails, the previous keys stay in use.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter_ns
from typing import Protocol

from policyd.controllers.waiting import until_any
from policyd.http.limits import share
from policyd.observability.logs import Log
from policyd.observability.throttle import Throttle
from policyd.regular_files import read_regular
from policyd.server.health import WatchHealth
from policyd.tokens.issuer_keys import MAX_KEYS_BYTES, KeySet, read_keys


class KeySource(Protocol):
    """Reads an issuer and its keys."""

    # Seconds between two reads.
    every: float

    async def read(self) -> tuple[str, KeySet]:
        """Return the issuer and its keys as they are now. Raises ValueError."""


class KeyFile(KeySource):
    """The keys of one issuer in a file."""

    every = 5.0

    def __init__(self, file: Path, issuer: str) -> None:
        self._file = file
        self._issuer = issuer

    async def read(self) -> tuple[str, KeySet]:
        """Read the file on another thread: its disk may hang."""
        try:
            data = await asyncio.to_thread(read_regular, self._file, MAX_KEYS_BYTES)
            return self._issuer, read_keys(data)
        except OSError as error:
            raise ValueError(f"{self._file}: {error.strerror or error}") from None
        except ValueError as error:
            raise ValueError(f"{self._file}: {error}") from None


# The shortest time between two reads, however many unknown keys clients name.
PAUSE_SECONDS = 2.0
# How long a request waits for a new key: the pause before the next read, and the read.
WAIT_SECONDS = 5.0
# Requests that may wait at a time. One address may use a part of the limit (SHARE).
MAX_WAITING = 64
# The shortest time between two log lines about a problem.
AGAIN_SECONDS = 60.0

# Called with an issuer and its keys; returns whether they changed.
UseKeys = Callable[[str, KeySet], bool]


class LiveKeys:
    """The keys of one source. ``use`` is called with them after each read."""

    def __init__(
        self, source: KeySource, use: UseKeys, log: Log, clock: Callable[[], float] = monotonic
    ) -> None:
        self._source = source
        self._use = use
        self._log = log
        self._clock = clock
        self._lines = Throttle(AGAIN_SECONDS)
        self._known = asyncio.Event()
        self._wanted = asyncio.Event()
        # Done when the read that has not started yet has succeeded or failed.
        self._next: asyncio.Future[None] | None = None
        self._waiting: Counter[str] = Counter()
        self.problem = "not read yet"

    @property
    def known(self) -> bool:
        """Whether there are keys."""
        return self._known.is_set()

    async def ready(self, stop: asyncio.Event) -> None:
        """Wait until there are keys, or ``stop`` is set."""
        await until_any(self._known, stop)

    async def run(self, stop: asyncio.Event, watch: WatchHealth) -> None:
        """Read the keys until ``stop`` is set."""
        while not stop.is_set():
            began = self._clock()
            self._wanted.clear()
            waiting, self._next = self._next, None
            try:
                await self._read(watch)
            finally:
                if waiting is not None:
                    waiting.set_result(None)
            every = self._source.every if self.known and not self.problem else PAUSE_SECONDS
            await until_any(self._wanted, stop, seconds=every)
            rest = began + PAUSE_SECONDS - self._clock()
            if rest > 0:
                await until_any(stop, seconds=rest)

    async def renewed(self, address: str, deadline: int) -> bool:
        """Start to read the keys again and wait for the result, at most WAIT_SECONDS or until
        ``deadline``, a ``perf_counter_ns`` time. Return False if that takes too long, or if too
        many requests wait.
        """
        seconds = min(WAIT_SECONDS, (deadline - perf_counter_ns()) / 1e9)
        most = self._waiting.total() >= MAX_WAITING or self._waiting[address] >= share(MAX_WAITING)
        if most or seconds <= 0:
            return False
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        self._wanted.set()
        self._waiting[address] += 1
        try:
            done, _ = await asyncio.wait([self._next], timeout=seconds)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        return bool(done)

    async def _read(self, watch: WatchHealth) -> None:
        """Read the keys once. If that fails, the watch is unhealthy but the server stays ready,
        with the previous keys.
        """
        try:
            issuer, keys = await self._source.read()
        except ValueError as error:
            self.problem = str(error)
            watch.succeeded()
            watch.failed(self.problem)
            count = self._lines.count("")
            if count:
                kept = "the previous ones stay in use" if self.known else "no review is accepted"
                message = f"cannot read the keys of API server tokens: {error}; {kept}"
                self._log.write("error", "token-keys", message, count=count)
            return
        self.problem = ""
        watch.succeeded()
        if self._use(issuer, keys):
            message = "API server tokens are verified with these keys"
            self._log.write("info", "token-keys", message, issuer=issuer, keys=sorted(keys))
        self._known.set()

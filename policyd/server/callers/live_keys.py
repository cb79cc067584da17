"""Keep the keys of the issuer current: read them regularly, and at once for a key that is new.

Requests that wait for a key are few, and wait for a short time. Keys that cannot be read stay.
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

    # Seconds after which it is read again.
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


# Seconds between two reads at least, even if clients name keys that do not exist.
PAUSE_SECONDS = 2.0
# How long a request waits for a new key: for a pause and an answer.
WAIT_SECONDS = 5.0
# Requests that wait at a time. One address may be a part of them (SHARE), as of all limits.
MAX_WAITING = 64
# A problem is logged once in this time.
AGAIN_SECONDS = 60.0

# Called with an issuer and its keys: whether they are others than before.
UseKeys = Callable[[str, KeySet], bool]


class LiveKeys:
    """The keys of one source, which ``use`` gets."""

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
        # Ends when keys were read, or could not be, that nobody had begun to read before.
        self._next: asyncio.Future[None] | None = None
        self._waiting: Counter[str] = Counter()
        self.problem = "they were not read yet"

    @property
    def known(self) -> bool:
        """Whether there are keys."""
        return self._known.is_set()

    async def ready(self, stop: asyncio.Event) -> None:
        """Wait until there are keys, or the server is to stop."""
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
        """Wait until the keys were read again, which begins now, but no longer than WAIT_SECONDS
        or until a ``perf_counter_ns`` time. False if that did not happen, or too many requests
        wait.
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
        """Read the keys once. If that fails, the watch is unhealthy but the server stays ready: the
        previous keys stay in use.
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

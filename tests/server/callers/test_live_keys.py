"""Keys that are read again and again: how often, who waits for them, and what happens without."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter_ns
from typing import Any

import pytest

from policyd.http.limits import share
from policyd.observability.logs import Log
from policyd.server.callers import live_keys
from policyd.server.callers.live_keys import MAX_WAITING, KeySource, LiveKeys
from policyd.server.health import WatchHealth
from policyd.tokens.issuer_keys import KeySet
from tests.tokens.issuing import ISSUER, SigningKey, keys

FIRST, BOTH = keys(SigningKey()), keys(SigningKey(), SigningKey("second"))
LATER = 10**15  # nanoseconds that never come


class Source(KeySource):
    """Gives what it is told to, and counts."""

    every = 1000.0

    def __init__(self) -> None:
        self.reads = 0
        self.given: KeySet | str = FIRST
        self.open = asyncio.Event()
        self.open.set()

    async def read(self) -> tuple[str, KeySet]:
        self.reads += 1
        await self.open.wait()
        if isinstance(self.given, str):
            raise ValueError(self.given)
        return ISSUER, self.given


class Running:
    """Keys that are kept current, until the test ends."""

    def __init__(self, log: Log) -> None:
        self.source = Source()
        self.used: list[KeySet] = []
        self.keys = LiveKeys(self.source, self._use, log)
        self.stop = asyncio.Event()
        self.watch = WatchHealth("token-keys", lambda: 0.0)

    def _use(self, issuer: str, given: KeySet) -> bool:
        self.used.append(given)
        return True

    async def renewed(self, address: str = "a", deadline: int = 0) -> bool:
        return await self.keys.renewed(address, deadline or perf_counter_ns() + LATER)

    async def turns(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.001)


Test = Callable[[Running], Awaitable[None]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Test], list[dict[str, Any]]]:
    """Run a test with keys, and return the lines of the log."""
    monkeypatch.setattr(live_keys, "PAUSE_SECONDS", 0.01)

    def running(test: Test) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []

        async def main() -> None:
            made = Running(Noted(lines))
            task = asyncio.create_task(made.keys.run(made.stop, made.watch))
            await test(made)
            made.source.open.set()
            made.stop.set()
            await task

        asyncio.run(main())
        return lines

    return running


class Noted(Log):
    """A log that keeps its lines."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._noted = lines

    def write(self, level: Any, event: str, message: str, **fields: Any) -> None:
        self._noted.append({"level": level, "event": event, "message": message, **fields})


Run = Callable[[Test], list[dict[str, Any]]]


def test_keys_are_read_at_once(run: Run) -> None:
    async def test(made: Running) -> None:
        assert made.keys.problem == "not read yet"
        await made.keys.ready(made.stop)
        assert made.keys.known
        assert made.used == [FIRST]
        assert made.watch.healthy

    (line,) = run(test)
    assert (line["issuer"], line["keys"]) == (ISSUER, ["first"])


def test_until_there_are_keys_the_reason_is_known(run: Run) -> None:
    async def test(made: Running) -> None:
        made.source.given = "the endpoint is down"
        await made.turns(lambda: made.source.reads > 2)
        assert not made.keys.known
        assert made.keys.problem == "the endpoint is down"
        assert not made.watch.healthy
        made.source.given = FIRST
        await made.keys.ready(made.stop)
        assert made.keys.problem == ""
        assert made.watch.healthy

    error, _ = run(test)
    assert error["message"].endswith("the endpoint is down; no review is accepted")


def test_keys_that_cannot_be_read_stay(run: Run) -> None:
    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        made.source.given = "the endpoint is down"
        assert await made.renewed()
        assert made.keys.known
        assert not made.watch.healthy
        assert made.used == [FIRST]

    _, error = run(test)
    assert error["message"].endswith("the endpoint is down; the previous ones stay in use")


def test_those_who_wait_share_one_read(run: Run) -> None:
    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        made.source.given = BOTH
        assert await asyncio.gather(*(made.renewed() for _ in range(20))) == [True] * 20
        assert made.source.reads == 2
        assert made.used == [FIRST, BOTH]

    run(test)


def test_who_comes_during_a_read_waits_for_the_next_one(run: Run) -> None:
    """The one under way may have begun before the key was published."""

    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        made.source.open.clear()
        early = asyncio.create_task(made.renewed())
        await made.turns(lambda: made.source.reads == 2)
        late = asyncio.create_task(made.renewed())
        await asyncio.sleep(0)
        made.source.open.set()
        assert await early
        assert made.source.reads == 2
        assert await late
        assert made.source.reads == 3

    run(test)


def test_a_flood_reads_no_more_often(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_keys, "PAUSE_SECONDS", 1000.0)
    monkeypatch.setattr(live_keys, "WAIT_SECONDS", 0.01)

    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        for _ in range(5):
            assert not any(await asyncio.gather(*(made.renewed() for _ in range(10))))
        assert made.source.reads == 1

    run(test)


def test_a_slow_endpoint_holds_nobody_past_the_deadline(run: Run) -> None:
    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        made.source.open.clear()
        assert not await made.renewed(deadline=perf_counter_ns() + 10_000_000)
        assert not await made.renewed(deadline=perf_counter_ns() - 1)
        made.source.open.set()
        assert await made.renewed()

    run(test)


def test_few_wait_and_one_address_leaves_room_for_others(run: Run) -> None:
    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        made.source.open.clear()
        most = share(MAX_WAITING)
        waiting = [asyncio.create_task(made.renewed("a")) for _ in range(most)]
        await asyncio.sleep(0)
        assert not await made.renewed("a"), "at once"
        waiting += [asyncio.create_task(made.renewed("b")) for _ in range(MAX_WAITING - most)]
        await asyncio.sleep(0)
        assert not await made.renewed("c"), "at once"
        made.source.open.set()
        assert all(await asyncio.gather(*waiting))
        assert await made.renewed("a")

    run(test)


def test_a_request_that_is_cancelled_leaves_no_trace(run: Run) -> None:
    async def test(made: Running) -> None:
        await made.keys.ready(made.stop)
        made.source.open.clear()
        for _ in range(MAX_WAITING * 2):
            task = asyncio.create_task(made.renewed())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        made.source.open.set()
        assert await made.renewed()

    run(test)

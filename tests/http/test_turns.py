"""Who is evaluated next when the process is busy, and who is refused because of its time."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from policyd.http import turns as module
from policyd.http.limits import Peer
from policyd.http.turns import TURN_NS, EvaluationTurns
from tests.builders.reviews import body
from tests.server.process import fake_server, write_sources

MS = 1_000_000
FAR = 3600 * 1000 * MS


class Clock:
    """A time that only the evaluations of a test move."""

    now = MS

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(module, "perf_counter_ns", made)
    yield made


class Office:
    """Requests that are evaluated by turns; ``done`` has their names in order."""

    def __init__(self, clock: Clock) -> None:
        self.turns = EvaluationTurns()
        self.done: list[str] = []
        self.refused: list[str] = []
        self._clock = clock

    async def request(self, name: str, peer: Peer, millis: int = 20, deadline: int = FAR) -> None:
        """One request whose evaluation takes so long, unless its time is over."""
        turn = self.turns.take(peer, deadline)
        if turn is False:
            self.refused.append(name)
            return
        if turn is not None:
            await turn
        if self._clock.now < deadline:
            self._clock.now += millis * MS
        self.done.append(name)


def work(clock: Clock, requests: Callable[[Office], list[Awaitable[None]]]) -> Office:
    """Let requests arrive at the same time, and wait until all are done."""
    office = Office(clock)

    async def all_of_them() -> None:
        async with asyncio.timeout(300):
            await asyncio.gather(*requests(office))

    asyncio.run(all_of_them())
    assert not office.turns.waiting
    return office


def test_sockets_are_read_between_turns(clock: Clock) -> None:
    """A request that arrives while others are evaluated is known before the last of them."""

    async def main() -> list[str]:
        office, peer = Office(clock), Peer("1")
        loop = asyncio.get_running_loop()
        reading, writing = socket.socketpair()
        with reading, writing:

            def read() -> None:
                reading.recv(1)
                office.done.append("read")

            loop.add_reader(reading, read)
            writing.send(b"x")
            names = [str(number) for number in range(12)]
            await asyncio.gather(*(office.request(name, peer) for name in names))
            loop.remove_reader(reading)
        return office.done

    done = asyncio.run(main())
    # 12 x 20 ms are five turns of 50 ms.
    assert 0 < done.index("read") <= TURN_NS // (20 * MS) + 1
    assert [each for each in done if each != "read"] == [str(number) for number in range(12)]


def test_addresses_are_served_in_turn(clock: Clock) -> None:
    greedy, other = Peer("1"), Peer("2")
    office = work(
        clock,
        lambda office: [
            *(office.request(f"greedy {number}", greedy) for number in range(40)),
            *(office.request(f"other {number}", other) for number in range(3)),
        ],
    )
    # The first turn ended before the other address was read.
    assert office.done[3:9] == [
        "greedy 3",
        "other 0",
        "greedy 4",
        "other 1",
        "greedy 5",
        "other 2",
    ]
    assert len(office.done) == 43


def test_what_arrives_in_one_turn_is_among_those_of_the_next(clock: Clock) -> None:
    """Otherwise a client with few requests would wait for turns of one with many."""
    office, greedy = Office(clock), Peer("1")
    arrived: list[asyncio.Task[None]] = []

    async def main() -> None:
        reading, writing = socket.socketpair()
        with reading, writing:

            def read() -> None:
                reading.recv(1)
                arrived.append(asyncio.create_task(office.request("other", Peer("2"))))

            async def fifth() -> None:
                await office.request("greedy 4", greedy)
                writing.send(b"x")

            asyncio.get_running_loop().add_reader(reading, read)
            many = [office.request(f"greedy {number}", greedy) for number in range(40)]
            many[4].close()
            many[4] = fifth()
            await asyncio.gather(*many)
            asyncio.get_running_loop().remove_reader(reading)
            await asyncio.gather(*arrived)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as server:
        server.run(main())
    # Turns of three: the fifth is in the second one.
    assert 6 <= office.done.index("other") < 9


def test_what_cannot_be_evaluated_in_time_is_refused_at_once(clock: Clock) -> None:
    office, peer = Office(clock), Peer("1")

    async def main() -> None:
        await office.request("alone", peer)
        await asyncio.sleep(0)  # the pace is known now
        eight = [asyncio.create_task(office.request(str(each), peer)) for each in range(8)]
        while not office.turns.waiting:
            await asyncio.sleep(0)
        before = clock.now
        await office.request("hopeless", peer, deadline=before + 60 * MS)
        assert clock.now == before
        await office.request("in time", peer, deadline=before + 300 * MS)
        await asyncio.gather(*eight)

    asyncio.run(main())
    assert office.refused == ["hopeless"]
    assert office.done[-1] == "in time"


def test_who_waited_too_long_is_answered_before_those_with_time(clock: Clock) -> None:
    """The pace was wrong: those whose time is over are not evaluated any more."""
    soon = clock.now + 300 * MS
    office = work(
        clock,
        lambda office: [
            *(office.request(f"slow {number}", Peer("1"), 200) for number in range(6)),
            office.request("late", Peer("1"), deadline=soon),
        ],
    )
    assert office.done.index("late") < office.done.index("slow 3")


def test_what_was_cancelled_takes_no_turn(clock: Clock) -> None:
    async def main() -> Office:
        office, peer = Office(clock), Peer("1")
        tasks = [asyncio.create_task(office.request(str(each), peer, 60)) for each in range(4)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not office.turns.waiting
        return office

    assert asyncio.run(main()).done == ["0", "1", "3"]


def test_a_request_that_is_alone_never_waits(clock: Clock) -> None:
    office = Office(clock)

    async def main() -> None:
        for number in range(5):
            await office.request(str(number), Peer("1"), 5000, deadline=clock.now + 10)
            await asyncio.sleep(0)

    asyncio.run(main())
    assert len(office.done) == 5 and office.refused == []


@pytest.mark.usefixtures("http_server")
def test_requests_without_hope_are_503_and_counted(tmp_path: Path) -> None:
    """Each evaluation takes 0.2 s: of twelve requests with a timeout of 1 s only some are tried."""
    sources = write_sources(tmp_path / "sources", a="slow 0.2")
    with fake_server(tmp_path, sources) as server:
        assert server.post("/validate", body())[0] == 200  # the pace is known now
        connections = [server.connect() for _ in range(12)]
        for connection in connections:
            connection.connect()
        for connection in connections:
            connection.request("POST", "/validate?timeout=1s", body())
        answers = [connection.getresponse() for connection in connections]
        refused = [each for each in answers if each.status == 503]
        assert refused and len(refused) < len(answers)
        assert {each.headers["Retry-After"] for each in refused} == {"1"}
        assert b"too many requests are waiting to be evaluated in time" in refused[0].read()
        for connection in connections:
            connection.close()
        assert server.metric('policyd_shed_requests_total{reason="queue"}') == len(refused)

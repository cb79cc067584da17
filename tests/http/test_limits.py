"""Bounded work: what is too much is refused at once, and counted."""

import asyncio
import json
import tracemalloc
from pathlib import Path

import pytest

from policyd.http.limits import InFlight, Peer, Reservation
from policyd.http.messages import Body
from tests.builders.reviews import body
from tests.server.announcing import announce, status, to_its_end
from tests.server.process import fake_server, until, write_sources


@pytest.mark.usefixtures("http_server")
def test_room_is_taken_by_what_arrived(tmp_path: Path) -> None:
    with fake_server(tmp_path, max_in_flight_bytes="1000000") as server:
        with announce(server, 900_000), announce(server, 900_000, b" " * 500):
            until(lambda: server.metric("policyd_in_flight_requests") == 2, "two requests")
            until(lambda: server.metric("policyd_in_flight_bytes") == 500, "the bytes")
            assert server.post("/validate", body())[0] == 200
        until(lambda: server.metric("policyd_in_flight_bytes") == 0, "room")


@pytest.mark.usefixtures("http_server")
def test_stalled_bodies_lose_their_room_to_newcomers(tmp_path: Path) -> None:
    with fake_server(tmp_path, max_in_flight="4") as server:
        stalled = [announce(server, 100) for _ in range(3)]
        until(lambda: server.metric("policyd_in_flight_requests") == 3, "the requests")
        assert server.post("/validate", body())[0] == 200
        # The oldest went, and no more than was needed.
        assert status(stalled[0]) == b"HTTP/1.1 503"
        assert to_its_end(stalled[0])
        assert server.metric('policyd_shed_requests_total{reason="stalled"}') == 1
        shed = 'policyd_admission_requests_total{operation="",result="shed",webhook="validate"}'
        assert server.metric(shed) == 1
        for sock in stalled:
            sock.close()
        until(lambda: server.metric("policyd_in_flight_requests") == 0, "room")


@pytest.mark.usefixtures("http_server")
def test_bytes_that_stalled_lose_their_room_to_newcomers(tmp_path: Path) -> None:
    with fake_server(tmp_path, max_in_flight_bytes="1000000") as server:
        stalled = [announce(server, 500_000, b" " * 250_000) for _ in range(3)]
        until(lambda: server.metric("policyd_in_flight_bytes") == 750_000, "the bytes")
        assert server.post("/validate", body())[0] == 200
        assert server.metric('policyd_shed_requests_total{reason="stalled"}') == 1
        for sock in stalled:
            sock.close()


@pytest.mark.usefixtures("http_server")
def test_body_has_a_time_of_its_own(tmp_path: Path) -> None:
    with (
        fake_server(tmp_path, body_timeout="100ms") as server,
        announce(server, 10, b"{") as sock,
    ):
        assert status(sock) == b"HTTP/1.1 408"
        assert to_its_end(sock)


def test_body_in_tiny_pieces_takes_no_more_than_its_size() -> None:
    pieces = [b"ab"] * 100_000

    async def receive() -> dict[str, object]:
        piece = pieces.pop() if pieces else b""
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def taken() -> tuple[int, bytes]:
        whole = Body(receive)
        tracemalloc.start()
        while not whole.complete:
            await whole.take()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size, whole.take_all()

    size, data = asyncio.run(taken())
    assert data == b"ab" * 100_000
    assert size < 300_000


@pytest.mark.usefixtures("http_server")
def test_waiting_counts_against_the_deadline(tmp_path: Path) -> None:
    """One slow answer keeps the others waiting: no time is left for them, or to read them."""
    sources = write_sources(tmp_path / "sources", a="slow 0.3")
    with fake_server(tmp_path, sources) as server:
        connections = [server.connect() for _ in range(3)]
        for connection in connections:
            connection.connect()
        for connection in connections:
            connection.request("POST", "/validate?timeout=200ms", body())
        left, unread = [], 0
        for connection in connections:
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status != 200:  # on a busy machine its body may be read too late
                unread += 1
            else:
                left.append(json.loads(answer["response"]["warnings"][0])["left"])
            connection.close()
        assert sum(seconds < -0.2 for seconds in left) + unread >= 1
        assert server.metric('policyd_shed_requests_total{reason="deadline"}') >= 1


@pytest.mark.usefixtures("http_server")
def test_a_defect_of_the_engine_is_a_500_that_is_logged_and_counted(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="break")
    with fake_server(tmp_path, sources) as server:
        for times in (1, 2):
            connection = server.connect()
            connection.request("POST", "/validate", body())
            assert connection.getresponse().status == 500
            connection.close()
            counted = 'operation="",result="error",webhook="validate"'
            assert server.metric(f"policyd_admission_requests_total{{{counted}}}") == times
        assert server.metric("policyd_in_flight_requests") == 0
        until(lambda: "a defect of the engine" in json.dumps(server.lines()), "the defect")


def entered(in_flight: InFlight, peer: Peer) -> Reservation:
    room = in_flight.enter(peer)
    assert isinstance(room, Reservation)
    return room


def test_room_is_counted_exactly() -> None:
    in_flight, one, other = InFlight(4, 100), Peer("1"), Peer("2")
    first, second = entered(in_flight, one), entered(in_flight, other)
    assert first.hold(60) and second.hold(40) and not second.hold(41)
    assert (in_flight.requests, in_flight.bytes, one.bytes, other.bytes) == (2, 100, 60, 40)
    second.keep(50)  # an answer is there, room or not
    assert in_flight.bytes == 110
    for room in (first, second):
        room.leave()
    assert (in_flight.requests, in_flight.bytes, one.requests, other.bytes) == (0, 0, 0, 0)


def test_one_address_leaves_room_for_others() -> None:
    in_flight, greedy, other = InFlight(8, 800), Peer("1"), Peer("2")
    rooms = [entered(in_flight, greedy) for _ in range(6)]
    assert in_flight.enter(greedy) == "requests"
    assert rooms[0].hold(600) and not rooms[1].hold(1)
    rest = entered(in_flight, other)
    assert rest.hold(200) and not rest.hold(201)


def test_request_that_is_alone_may_be_larger_than_the_room() -> None:
    in_flight, peer = InFlight(8, 100), Peer("1")
    alone = entered(in_flight, peer)
    assert alone.hold(1000)
    assert not entered(in_flight, peer).hold(1)


def test_incomplete_requests_of_who_has_most_are_ended_first() -> None:
    async def main() -> list[bool]:
        in_flight, greedy, other = InFlight(4, 100), Peer("1"), Peer("2")
        task = asyncio.ensure_future(asyncio.sleep(60))
        rooms = [entered(in_flight, peer) for peer in (other, greedy, greedy, greedy)]
        for room in rooms:
            room.wait(task)
        entered(in_flight, Peer("3"))
        task.cancel()
        return [room.ended for room in rooms]

    assert asyncio.run(main()) == [False, True, False, False]


def test_complete_requests_are_never_ended() -> None:
    in_flight, peer = InFlight(4, 100), Peer("1")
    rooms = [entered(in_flight, peer) for _ in range(3)]
    entered(in_flight, Peer("2"))
    assert in_flight.enter(Peer("3")) == "requests"
    assert not any(room.ended for room in rooms)

"""Bounded work: what is too much is refused at once, and counted."""

import json
from http.client import HTTPSConnection
from pathlib import Path

from policyd.limits import InFlight, Room
from tests.server.process import Process, fake_server, until, write_sources
from tests.server.reviews import body


def refused(connection: HTTPSConnection) -> bool:
    connection.request("POST", "/validate", body())
    answer = connection.getresponse()
    assert "error" in json.loads(answer.read())
    return (answer.status, answer.headers["Retry-After"]) == (503, "1")


def hold(server: Process, size: int) -> object:
    """A request that announces ``size`` bytes and sends none of them."""
    sock = server.secure_socket()
    sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
    return sock


def test_too_many_requests_are_503(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    with fake_server(tmp_path, sources, max_in_flight="2") as server:
        held = [hold(server, 100), hold(server, 100)]
        until(lambda: server.metric("policyd_in_flight_requests") == 2, "two requests")
        connection = server.connect()
        assert refused(connection)
        assert refused(connection)  # the connection stays open
        assert server.metric('policyd_shed_requests_total{reason="requests"}') == 2
        shed = 'policyd_admission_requests_total{operation="",result="shed",webhook="validate"}'
        assert server.metric(shed) == 2
        for sock in held:
            sock.close()  # type: ignore[attr-defined]
        until(lambda: server.metric("policyd_in_flight_requests") == 0, "room")
        connection.request("POST", "/validate", body())
        assert connection.getresponse().status == 200
        connection.close()


def test_too_many_bytes_are_503(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    with fake_server(tmp_path, sources, max_in_flight_bytes="10000") as server:
        held = hold(server, 9_900)
        until(lambda: server.metric("policyd_in_flight_bytes") == 9_900, "the bytes")
        connection = server.connect()
        assert refused(connection)
        connection.close()
        assert server.metric('policyd_shed_requests_total{reason="bytes"}') == 1
        held.close()  # type: ignore[attr-defined]


def test_waiting_counts_against_the_deadline(tmp_path: Path) -> None:
    """One slow answer keeps the other waiting: it is told that no time is left."""
    sources = write_sources(tmp_path / "sources", a="slow 0.3")
    with fake_server(tmp_path, sources) as server:
        connections = [server.connect() for _ in range(3)]
        for connection in connections:
            connection.connect()
        for connection in connections:
            connection.request("POST", "/validate?timeout=200ms", body())
        left = []
        for connection in connections:
            answer = json.loads(connection.getresponse().read())
            left.append(json.loads(answer["response"]["warnings"][0])["left"])
            connection.close()
        assert sum(seconds < -0.2 for seconds in left) >= 1
        assert server.metric('policyd_shed_requests_total{reason="deadline"}') >= 1


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
        assert any("a defect of the engine" in json.dumps(line) for line in server.lines())


def test_room_is_counted_exactly() -> None:
    in_flight = InFlight(2, 100)
    first, second = in_flight.enter(60), in_flight.enter(0)
    assert isinstance(first, Room) and isinstance(second, Room)
    assert in_flight.enter(0) == "requests"
    assert second.hold(40) and not second.hold(41)
    assert (in_flight.requests, in_flight.bytes) == (2, 100)
    first.leave()
    assert (in_flight.requests, in_flight.bytes) == (1, 40)
    assert in_flight.enter(61) == "bytes"
    second.leave()
    assert (in_flight.requests, in_flight.bytes) == (0, 0)

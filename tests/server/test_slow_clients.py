"""Clients that are slow, stall, do not read, or are many: each costs little, and for a short time."""

import socket
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.server.announcing import response, whole_request
from tests.server.process import Process, fake_server, trusting, until, write_sources

pytestmark = pytest.mark.usefixtures("http_server")


def closed(server: Process, reason: str, port: str = "reviews") -> float:
    return server.metric(f'policyd_closed_connections_total{{port="{port}",reason="{reason}"}}')


def test_handshake_has_a_time(tmp_path: Path, http_server: str) -> None:
    with (
        fake_server(tmp_path, handshake_timeout="200ms") as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=300) as silent,
    ):
        assert silent.recv(1) == b""
        if http_server == "policyd":
            until(lambda: closed(server, "handshake") == 1, "the count")


@pytest.mark.own_server("has no time of its own for heads")
def test_head_has_a_time_and_an_unused_connection_more(tmp_path: Path) -> None:
    with (
        fake_server(tmp_path, head_timeout="200ms") as server,
        server.secure_socket() as unused,
        server.secure_socket() as slow,
    ):
        slow.sendall(b"POST /validate HTTP/1.1\r\n")
        assert slow.recv(1) == b""
        slow.close()
        until(lambda: closed(server, "head") == 1, "the count")
        unused.sendall(whole_request())
        assert response(unused).startswith(b"HTTP/1.1 200")


@pytest.mark.own_server("does not count the pieces of bodies")
def test_client_whose_body_comes_in_crumbs_is_closed(tmp_path: Path) -> None:
    """A chunk costs the server as much whether it has one byte or thousands."""
    with fake_server(tmp_path) as server:
        chunked = b"POST /validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        with server.secure_socket() as sock:
            pieces = b"".join(b"1\r\n%c\r\n" % each for each in body()[:900])
            rest = body()[900:]
            sock.sendall(chunked + pieces + b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest))
            assert response(sock).startswith(b"HTTP/1.1 200")
        for path in (b"/validate", b"/nothing"):
            with server.secure_socket() as sock, pytest.raises(OSError):
                sock.sendall(chunked.replace(b"/validate", path))
                while True:
                    sock.sendall(b"1\r\n \r\n" * 10_000)
        until(lambda: closed(server, "flood") == 2, "the count")


@pytest.mark.own_server("waits for clients that do not read")
def test_client_that_does_not_take_its_answer_is_closed(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="patch 3000000")
    with (
        fake_server(tmp_path, sources, write_timeout="2s") as server,
        server.narrow_socket() as sock,
    ):
        sock.sendall(whole_request("/mutate"))
        # The answer counts until it is taken.
        until(lambda: server.metric("policyd_in_flight_bytes") > 3_000_000, "the answer")
        until(lambda: closed(server, "write") == 1, "the end of the connection")
        until(lambda: server.metric("policyd_in_flight_bytes") == 0, "room")


def test_slow_client_that_takes_its_answer_gets_all_of_it(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="patch 3000000")
    with fake_server(tmp_path, sources) as server, server.narrow_socket() as sock:
        for _ in range(2):
            sock.sendall(whole_request("/mutate"))
            seen = b""
            while not seen.endswith(b"}}"):
                seen += sock.recv(4096)
            head, _, content = seen.partition(b"\r\n\r\n")
            assert b"content-length: %d" % len(content) in head


def test_client_that_only_sends_is_not_read(tmp_path: Path, http_server: str) -> None:
    sources = write_sources(tmp_path / "sources", a="patch 20000")
    patience = {"write_timeout": "60s"} if http_server == "policyd" else {}
    with fake_server(tmp_path, sources, **patience) as server, server.narrow_socket() as sock:
        sock.settimeout(1)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * 2**20:
                sock.sendall(whole_request("/mutate") * 16)
                sent += len(whole_request("/mutate")) * 16
        answered = 'operation="CREATE",result="allowed",webhook="mutate"'
        count = server.metric(f"policyd_admission_requests_total{{{answered}}}")
        # What the kernel takes of both ways, and no more: 2,000 would be 40 MB.
        assert count < 500
        sock.close()
        until(lambda: server.metric("policyd_in_flight_bytes") == 0, "the end of the request")
        assert server.lines("log") == []  # not a line for each answer that nobody takes


def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="patch 50000")
    with fake_server(tmp_path, sources) as server, server.secure_socket() as sock:
        sock.sendall(whole_request("/mutate") * 40)
        seen = b""
        while seen.count(b"HTTP/1.1 200") < 40 or not seen.endswith(b"}}"):
            seen += sock.recv(1 << 20)
        assert seen.count(b'"uid"') == 40


@pytest.mark.own_server("does not limit connections")
def test_newcomers_replace_the_connection_that_is_idle_longest(tmp_path: Path) -> None:
    # One address may have three quarters of them.
    with fake_server(tmp_path, max_connections="16") as server:
        idle = []
        for _ in range(20):
            sock = server.secure_socket()
            sock.sendall(whole_request())
            assert response(sock).startswith(b"HTTP/1.1 200")
            idle.append(sock)
        assert [sock.recv(1) for sock in idle[:8]] == [b""] * 8
        for sock in idle[:8]:
            sock.close()
        until(lambda: closed(server, "room") == 8, "their ends")
        idle[8].sendall(whole_request())
        assert response(idle[8]).startswith(b"HTTP/1.1 200")
        for sock in idle:
            sock.close()


@pytest.mark.own_server("does not limit connections")
def test_there_is_a_place_beside_connections_that_stall(tmp_path: Path) -> None:
    with fake_server(tmp_path, max_connections="16") as server:
        stalled = [server.secure_socket() for _ in range(12)]
        for sock in stalled:
            sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        until(lambda: server.metric("policyd_in_flight_requests") == 12, "the requests")
        # Another address, as another Pod has.
        raw = socket.create_connection(("127.0.0.1", server.port), 20, ("127.0.0.2", 0))
        with trusting().wrap_socket(raw) as sock:
            sock.sendall(whole_request())
            assert response(sock).startswith(b"HTTP/1.1 200")
        for sock in stalled:
            sock.close()

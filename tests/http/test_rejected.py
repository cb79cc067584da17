"""Requests that get an error instead of a review: the log has them at a limited rate."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders.reviews import body
from tests.server.process import Process, fake_server, until

pytestmark = pytest.mark.usefixtures("http_server")

LIMIT = 100_000


@pytest.fixture
def server(http_server: str, tmp_path: Path) -> Iterator[Process]:
    with fake_server(tmp_path, max_body_bytes=str(LIMIT), timeout="1s") as process:
        yield process


def rejected(server: Process, status: int | None) -> list[dict[str, Any]]:
    return [line for line in server.lines("rejected") if line.get("status") == status]


def stalls(server: Process) -> None:
    with server.secure_socket() as sock:
        sock.sendall(
            b"POST /mutate?timeout=200ms HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
        )
        while sock.recv(65536):
            pass


def leaves(server: Process) -> None:
    sock = server.secure_socket()
    sock.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
    until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
    sock.close()


def gets(server: Process) -> None:
    connection = server.connect()
    connection.request("GET", "/validate")
    connection.getresponse().read()
    connection.close()


def babbles(server: Process) -> None:
    with server.secure_socket() as sock:
        sock.sendall(b"\x00\x01\x02 nonsense\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 400")


def speaks_http2(server: Process) -> None:
    with server.secure_socket() as sock:
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 505")


ZIPPED = {"Content-Encoding": "gzip"}
ROWS: list[tuple[int | None, str, str, Callable[[Process], object]]] = [
    (400, "/validate", "the body is not JSON", lambda s: s.post("/validate?a=b", b"nonsense")),
    (404, "/validat", "nothing is served at /validat", lambda s: s.post("/validat", body())),
    (404, "/" + "x" * 199, "nothing is served at /x", lambda s: s.post("/" + "x" * 999, body())),
    (405, "/validate", "expected a POST request", gets),
    (408, "/mutate", "the body did not arrive in time", stalls),
    (413, "/validate", f"larger than {LIMIT} bytes", lambda s: s.post("/validate", b" " * 200_000)),
    (415, "/validate", "Content-Encoding", lambda s: s.post("/validate", body(), **ZIPPED)),
    (None, "/validate", "the client disconnected", leaves),
]
# What is no request, so that the app never sees it.
UNREADABLE = [
    pytest.param(
        status,
        "",
        "expected a request of HTTP/1.1",
        act,
        marks=pytest.mark.own_server("does not report what it refuses"),
    )
    for status, act in ((400, babbles), (505, speaks_http2))
]


@pytest.mark.parametrize(("status", "path", "reason", "act"), [*ROWS, *UNREADABLE])
def test_a_rejected_request_is_logged(
    server: Process,
    status: int | None,
    path: str,
    reason: str,
    act: Callable[[Process], object],
) -> None:
    act(server)
    (line,) = until(lambda: rejected(server, status), "the line")
    assert reason in line.pop("message")
    del line["time"]
    want: dict[str, Any] = {"event": "rejected", "level": "warning", "peer": "127.0.0.1"}
    want |= {key: value for key, value in (("path", path), ("status", status)) if value}
    assert line == want


def test_a_flood_is_one_line_for_each_client_and_status(server: Process) -> None:
    for _ in range(30):
        server.post("/nothing", body())
    server.post("/validate", b"{")
    (line,) = until(lambda: rejected(server, 400), "the line")
    assert line["suppressed"] == 29
    assert len(rejected(server, 404)) == 1

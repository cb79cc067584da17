"""HTTP/2: refused by policyd's own server, and answered by Hypercorn within the limits of the app."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset

from tests.builders.reviews import body
from tests.server.process import Process, fake_server, trusting, until, write_sources

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
)
WEBSOCKET = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Client:
    """A client of HTTP/2 that keeps what it got by stream."""

    def __init__(self, server: Process) -> None:
        context = trusting()
        context.set_alpn_protocols(["h2"])
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=300)
        self.sock = context.wrap_socket(raw)
        self.connection = H2Connection()
        self.connection.initiate_connection()
        self.content: dict[int, bytes] = {}
        self.status: dict[int, int] = {}
        self.ended: set[int] = set()

    def begin(self, stream: int, path: str = "/validate", **headers: str) -> None:
        """The head of a review."""
        head = [(":method", "POST"), (":path", path), (":scheme", "https"), (":authority", "x")]
        self.connection.send_headers(stream, [*head, *headers.items()])

    def flush(self) -> None:
        """Send what was begun."""
        self.sock.sendall(self.connection.data_to_send())

    def read(self) -> None:
        """Take in what comes next."""
        data = self.sock.recv(65536)
        assert data, "the connection was closed"
        for event in self.connection.receive_data(data):
            if isinstance(event, DataReceived):
                stream = event.stream_id
                self.content[stream] = self.content.get(stream, b"") + (event.data or b"")
                self.connection.acknowledge_received_data(event.flow_controlled_length or 0, stream)
            elif isinstance(event, ResponseReceived):
                headers = dict(event.headers or [])
                self.status[event.stream_id] = int(headers[b":status"])
            elif isinstance(event, StreamEnded | StreamReset):
                self.ended.add(event.stream_id)
        self.flush()

    def answer(self, stream: int) -> Any:
        """The answer to a stream, decoded."""
        while stream not in self.ended:
            self.read()
        return json.loads(self.content[stream])

    def ask(self, stream: int, path: str = "/validate") -> Any:
        """A whole review."""
        self.begin(stream, path)
        self.connection.send_data(stream, body(), end_stream=True)
        self.flush()
        return self.answer(stream)


@contextmanager
def serving(folder: Path, source: str = "allow a", **more: str) -> Iterator[Process]:
    sources = write_sources(folder / "sources", a=source)
    with fake_server(folder, sources, **more) as server:
        yield server


@pytest.fixture
def hypercorn(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path, server="hypercorn", max_body_bytes="10000", max_in_flight="8") as server:
        yield server


def first_line(sock: socket.socket, data: bytes) -> bytes:
    with sock:
        sock.sendall(data)
        return sock.recv(65536).partition(b"\r\n")[0].strip()


@pytest.mark.parametrize(("name", "without_choice"), [("policyd", None), ("hypercorn", "h2")])
def test_only_hypercorn_speaks_http2_and_to_clients_of_nothing_else(
    tmp_path: Path, name: str, without_choice: str | None
) -> None:
    with serving(tmp_path, server=name) as server:
        for offered, chosen in ((["h2", "http/1.1"], "http/1.1"), (["h2"], without_choice)):
            context = trusting()
            context.set_alpn_protocols(offered)
            raw = socket.create_connection(("127.0.0.1", server.port), timeout=300)
            with context.wrap_socket(raw) as sock:
                assert sock.selected_alpn_protocol() == chosen
        assert server.post("/validate", body())[0] == 200


def test_own_server_changes_no_protocol(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert first_line(server.secure_socket(), PREFACE) == b"HTTP/1.1 505"
        assert first_line(server.secure_socket(), UPGRADE % b"/validate") == b"HTTP/1.1 405"
        plain = ("127.0.0.1", server.admin_port)
        assert first_line(socket.create_connection(plain, 20), PREFACE) == b"HTTP/1.1 505"
        for change in (UPGRADE, WEBSOCKET):
            sock = socket.create_connection(plain, 20)
            assert first_line(sock, change % b"/livez") == b"HTTP/1.1 200"


def test_websockets_of_hypercorn_reach_nothing(hypercorn: Process) -> None:
    plain = ("127.0.0.1", hypercorn.admin_port)
    for path in (b"/livez", b"/metrics", b"/denials"):
        refused = first_line(socket.create_connection(plain, 20), WEBSOCKET % path)
        assert refused.startswith(b"HTTP/1.1 403")
        assert first_line(hypercorn.secure_socket(), WEBSOCKET % path) == refused


def test_admin_port_is_not_reached_over_tls_and_reviews_not_without(hypercorn: Process) -> None:
    """Whatever a client writes into :scheme."""
    client = Client(hypercorn)
    client.ask(1, "/metrics")
    assert client.status[1] == 404
    head = [(":method", "GET"), (":path", "/metrics"), (":scheme", "http"), (":authority", "x")]
    client.connection.send_headers(3, head, end_stream=True)
    client.flush()
    client.answer(3)
    assert client.status[3] == 404
    client.sock.close()


def test_review_is_answered_within_its_own_time(hypercorn: Process) -> None:
    client = Client(hypercorn)
    left = []
    for stream in (1, 3):
        answer = client.ask(stream, "/validate?timeout=1s")
        said = json.loads(answer["response"]["warnings"][0])
        assert said["texts"] == ["a"]
        left.append(said["left"])
        later = time.monotonic() + 1.1
        until(partial(_is_past, later), "the end of a deadline")
    assert min(left) > 0
    client.sock.close()


def _is_past(moment: float) -> bool:
    return time.monotonic() > moment


def test_large_body_is_refused_and_the_connection_lives(hypercorn: Process) -> None:
    client = Client(hypercorn)
    client.begin(1, **{"content-length": "30000"})
    client.flush()
    while 1 not in client.status:
        client.read()
    assert client.status[1] == 413
    for last in (False, False, True):
        client.connection.send_data(1, b" " * 10_000, end_stream=last)
        client.flush()
    client.ask(3)
    assert client.status[3] == 200
    client.sock.close()


def test_stalled_streams_lose_their_room_to_newcomers(hypercorn: Process) -> None:
    client = Client(hypercorn)
    for stream in range(1, 41, 2):
        client.begin(stream)
    client.flush()
    until(lambda: hypercorn.metric('policyd_shed_requests_total{reason="stalled"}') > 9, "room")
    assert hypercorn.metric("policyd_in_flight_requests") <= 6
    assert hypercorn.post("/validate", body())[0] == 200
    client.sock.close()
    until(lambda: hypercorn.metric("policyd_in_flight_requests") == 0, "room")


def test_request_under_way_is_answered_while_draining(tmp_path: Path) -> None:
    with serving(tmp_path, server="hypercorn", drain="0s") as server:
        client = Client(server)
        client.begin(1)
        client.connection.send_data(1, body()[:-1])
        client.flush()
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        server.child.terminate()
        until(lambda: server.lines("draining"), "the drain")
        client.connection.send_data(1, body()[-1:], end_stream=True)
        client.flush()
        assert client.answer(1)["response"]["allowed"]
        client.sock.close()
        assert server.child.wait(300) == 0

"""HTTP/2: refused where it is not offered; and as bounded as HTTP/1.1 where it is."""

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
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

from tests.builders.reviews import body
from tests.server.process import Process, fake_server, trusting, until, write_sources

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
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
        self.terminated = False

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
            elif isinstance(event, ResponseReceived):
                headers = dict(event.headers or [])
                self.status[event.stream_id] = int(headers[b":status"])
            elif isinstance(event, StreamEnded | StreamReset):
                self.ended.add(event.stream_id)
            elif isinstance(event, ConnectionTerminated):
                self.terminated = True
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
def serving(folder: Path, source: str = "allow a", **settings: str) -> Iterator[Process]:
    sources = write_sources(folder / "sources", a=source)
    with fake_server(folder, sources, **settings) as server:
        yield server


def first_line(sock: socket.socket, data: bytes) -> bytes:
    with sock:
        sock.sendall(data)
        return sock.recv(65536).partition(b"\r\n")[0].strip()


@pytest.mark.parametrize("http2", ["false", "true"])
def test_http2_is_not_spoken_without_negotiation(tmp_path: Path, http2: str) -> None:
    with serving(tmp_path, http2=http2) as server:
        assert first_line(server.secure_socket(), PREFACE) == b"HTTP/1.1 505"
        assert first_line(server.secure_socket(), UPGRADE % b"/validate") == b"HTTP/1.1 405"
        plain = ("127.0.0.1", server.admin_port)
        assert first_line(socket.create_connection(plain, 20), PREFACE) == b"HTTP/1.1 505"
        upgraded = first_line(socket.create_connection(plain, 20), UPGRADE % b"/livez")
        assert upgraded == b"HTTP/1.1 200"


def test_websockets_are_not_spoken(tmp_path: Path) -> None:
    head = (
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with serving(tmp_path) as server:
        sock = socket.create_connection(("127.0.0.1", server.admin_port), 20)
        assert first_line(sock, head) == b"HTTP/1.1 200"


def is_past(moment: float) -> bool:
    return time.monotonic() > moment


def test_each_request_has_its_own_time(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        left = []
        for stream in (1, 3):
            answer = client.ask(stream, "/validate?timeout=1s")
            left.append(json.loads(answer["response"]["warnings"][0])["left"])
            later = time.monotonic() + 1.1
            until(partial(is_past, later), "the end of a deadline")
        assert min(left) > 0
        client.sock.close()


def test_late_data_does_not_drop_the_connection(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true", max_body_bytes="10000") as server:
        client = Client(server)
        client.begin(1, **{"content-length": "30000"})
        client.flush()
        while 1 not in client.status:
            client.read()
        assert client.status[1] == 413
        for _ in range(3):
            if 1 not in client.ended:
                client.connection.send_data(1, b" " * 10_000)
                client.flush()
        client.ask(3)
        assert client.status[3] == 200
        client.sock.close()


def test_data_after_a_reset_does_not_drop_the_connection(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        client.begin(1)
        client.connection.send_data(1, b"{")
        late = bytes((0, 0, 1, 0, 0, 0, 0, 0, 1)) + b"x"  # DATA of stream 1
        reset = bytes((0, 0, 4, 3, 0, 0, 0, 0, 1)) + bytes((0, 0, 0, 8))  # RST_STREAM, CANCEL
        client.flush()
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        client.sock.sendall(reset + late)
        until(lambda: server.metric("policyd_in_flight_requests") == 0, "its end")
        client.ask(3)
        assert client.status[3] == 200
        client.sock.close()


def test_answers_that_no_window_is_given_for_are_given_up(tmp_path: Path) -> None:
    settings = {"http2": "true", "write_timeout": "500ms"}
    with serving(tmp_path, "patch 200000", **settings) as server:
        client = Client(server)
        client.begin(1, "/mutate")
        client.connection.send_data(1, body(), end_stream=True)
        client.flush()
        until(lambda: server.metric("policyd_in_flight_bytes") > 200_000, "the answer")
        until(lambda: server.metric("policyd_in_flight_bytes") == 0, "its end")
        while 1 not in client.ended:
            client.read()
        client.connection.increment_flow_control_window(1_000_000)
        assert client.ask(3)["response"]["allowed"]  # the connection lives
        client.sock.close()


def test_stalled_streams_lose_their_room_to_newcomers(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true", max_in_flight="8") as server:
        client = Client(server)
        for stream in range(1, 41, 2):
            client.begin(stream)
        client.flush()
        until(lambda: server.metric('policyd_shed_requests_total{reason="stalled"}') > 9, "room")
        assert server.metric("policyd_in_flight_requests") <= 6
        assert server.post("/validate", body())[0] == 200
        client.sock.close()
        until(lambda: server.metric("policyd_in_flight_requests") == 0, "room")


def test_flood_of_resets_ends_the_connection(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        with pytest.raises((AssertionError, OSError)):
            for stream in range(1, 4001, 2):
                client.begin(stream)
                client.connection.reset_stream(stream)
                client.flush()
            while True:
                client.read()
        flooded = 'policyd_closed_connections_total{port="reviews",reason="flood"}'
        client.sock.close()
        until(lambda: server.metric(flooded) == 1, "the end")


def test_body_in_crumbs_ends_the_connection(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        client.begin(1)
        client.flush()
        piece = bytes((0, 0, 1, 0, 0, 0, 0, 0, 1)) + b" "
        with pytest.raises((AssertionError, OSError)):
            for _ in range(60):  # less than a window
                client.sock.sendall(piece * 1000)
            while True:
                client.read()
        flooded = 'policyd_closed_connections_total{port="reviews",reason="flood"}'
        client.sock.close()
        until(lambda: server.metric(flooded) == 1, "the end")


@pytest.mark.parametrize("kind", [2, 4, 6, 8, 77], ids=str)
def test_flood_of_frames_that_carry_nothing_ends_the_connection(tmp_path: Path, kind: int) -> None:
    """PRIORITY, SETTINGS, PING, WINDOW_UPDATE and a kind that is unknown."""
    content = {2: bytes((0, 0, 0, 0, 5)), 6: bytes(8), 8: bytes((0, 0, 0, 1))}.get(kind, b"")
    frame = bytes((0, 0, len(content), kind, 0, 0, 0, 0, 3 if kind == 2 else 0)) + content
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        client.flush()
        with pytest.raises((AssertionError, OSError)):
            for _ in range(20):
                client.sock.sendall(frame * 1000)
            while True:
                client.read()
        flooded = 'policyd_closed_connections_total{port="reviews",reason="flood"}'
        client.sock.close()
        until(lambda: server.metric(flooded) == 1, "the end")


def test_connection_whose_request_was_reset_is_idle(tmp_path: Path) -> None:
    with serving(tmp_path, http2="true", keep_alive="500ms") as server:
        client = Client(server)
        client.begin(1)
        client.flush()
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        client.connection.reset_stream(1)
        client.flush()
        idle = 'policyd_closed_connections_total{port="reviews",reason="idle"}'
        until(lambda: server.metric(idle) == 1, "the end")
        client.sock.close()


@pytest.mark.parametrize(("fields", "ends"), [(90, False), (100, True)])
def test_head_with_too_many_fields_ends_the_connection(
    tmp_path: Path, fields: int, ends: bool
) -> None:
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        client.begin(1, "/livez", **{f"x-{number}": "" for number in range(fields)})
        client.connection.end_stream(1)
        client.flush()
        while 1 not in client.status and not client.terminated:
            client.read()
        assert client.terminated == ends
        client.sock.close()


def test_flood_of_continuations_ends_the_connection(tmp_path: Path) -> None:
    """A head that never ends, in frames of CONTINUATION: h2 bounds them."""
    with serving(tmp_path, http2="true") as server:
        client = Client(server)
        client.flush()
        head = bytes((0, 0, 1, 1, 0, 0, 0, 0, 1)) + b"\x82"
        more = bytes((0, 0, 1, 9, 0, 0, 0, 0, 1)) + b"\x86"
        client.sock.sendall(head)
        with pytest.raises((AssertionError, OSError)):
            for _ in range(1000):
                client.sock.sendall(more * 100)
            while True:
                client.read()
        client.sock.close()
        assert server.post("/validate", body())[0] == 200

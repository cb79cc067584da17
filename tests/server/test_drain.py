"""SIGTERM: no request is lost, and the process ends in time."""

import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.server.announcing import response, whole_request
from tests.server.load import Load
from tests.server.process import fake_server, trusting, until

pytestmark = pytest.mark.usefixtures("http_server")


def test_drain_under_load_loses_nothing(tmp_path: Path) -> None:
    with fake_server(tmp_path, drain="0.5") as server, Load(server) as load:
        until(lambda: len(load.answers) > 50, "some load")
        server.child.terminate()
        until(lambda: server.lines("draining"), "the drain")
        # The listeners are still open, so new connections are answered. The Pod stays ready: it may
        # be the last one that kube-proxy can send requests to.
        assert server.get("/readyz") == (200, "ok")
        assert server.get("/livez") == (200, "ok")
        assert server.post("/validate", body())[0] == 200
        answered = len(load.answers)
        until(lambda: len(load.answers) > answered + 10, "answers while draining")
        load.stop()
        assert load.failures == []
        assert server.child.wait(300) == 0
        assert server.lines("stopped")


def test_serves_while_requests_arrive(tmp_path: Path) -> None:
    """When all replicas end at once, requests come here until another one is ready."""
    with fake_server(tmp_path, drain="1") as server, Load(server) as load:
        until(lambda: len(load.answers) > 50, "some load")
        begin = time.monotonic()
        server.child.terminate()
        until(lambda: time.monotonic() - begin > 2.5, "more than the quiet period")
        assert server.post("/validate", body())[0] == 200
        load.stop()
        assert (load.failures, load.refused) == ([], 0)
        assert server.child.wait(300) == 0


def test_requests_do_not_hold_the_ports_open_for_ever(tmp_path: Path) -> None:
    """What is left of the grace period is for the requests that are under way."""
    with fake_server(tmp_path, drain="0.4", grace="2s") as server, Load(server) as load:
        until(lambda: len(load.answers) > 50, "some load")
        server.child.terminate()
        assert server.child.wait(300) == 0
        assert load.failures == []
        assert server.lines("draining")[0]["at_most"] == 1.0
        assert server.lines("stopped")


@pytest.mark.parametrize("honoured", [True, False])
def test_busy_and_new_connections_are_not_reset(tmp_path: Path, honoured: bool) -> None:
    """Whoever has connected gets an answer, or an orderly end before a further request."""
    clients = [Client(new=number % 2 == 0, honours=honoured) for number in range(16)]
    with fake_server(tmp_path, drain="0.5", grace="4s") as server:
        threads = [threading.Thread(target=each.run, args=[server.port]) for each in clients]
        for thread in threads:
            thread.start()
        until(lambda: all(each.answered for each in clients), "some load")
        assert server.terminate() == 0
        for thread in threads:
            thread.join()
    assert [failure for each in clients for failure in each.failures] == []


class Client:
    """Asks again and again until nobody listens; a real socket, so that a reset is seen as one.

    ``new``: a connection for each request. Without ``honours`` it goes on after an answer that
    said ``Connection: close``, and may then find the connection closed, but not reset.
    """

    def __init__(self, new: bool, honours: bool) -> None:
        self._new = new
        self._honours = honours
        self.answered = 0
        self.failures: list[str] = []

    def run(self, port: int) -> None:
        """Until connections are refused."""
        while True:
            try:
                raw = socket.create_connection(("127.0.0.1", port), timeout=300)
            except ConnectionRefusedError:
                return
            try:
                with trusting().wrap_socket(raw) as sock:
                    self._ask(sock)
            except OSError as error:
                self.failures.append(repr(error))

    def _ask(self, sock: ssl.SSLSocket) -> None:
        told = False
        while True:
            try:
                sock.sendall(whole_request())
            except ssl.SSLEOFError:  # closed, without TLS' own goodbye; a reset is another error
                answer = b""
            else:
                answer = response(sock)
            if not answer:
                if not told:
                    self.failures.append("closed without an answer")
                return
            self.answered += 1
            told = b"connection: close" in answer
            if self._new or (told and self._honours):
                return


def test_answers_say_close_while_draining(tmp_path: Path) -> None:
    with fake_server(tmp_path, drain="0.5") as server:
        connection = server.connect()
        connection.request("POST", "/validate", body())
        answer = connection.getresponse()
        assert answer.headers.get("Connection") is None
        answer.read()
        server.child.terminate()
        until(lambda: server.lines("draining"), "the drain")
        connection.request("POST", "/validate", body())
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Connection"]) == (200, "close")
        answer.read()
        connection.close()


def test_work_under_way_is_finished_after_the_drain(tmp_path: Path) -> None:
    with fake_server(tmp_path, drain="0s") as server, server.secure_socket() as sock:
        whole = whole_request()
        sock.sendall(whole[:-20])
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        server.child.terminate()
        until(lambda: server.lines("draining"), "the drain")
        sock.sendall(whole[-20:])
        assert response(sock).startswith(b"HTTP/1.1 200")
        assert sock.recv(65536) == b""
        sock.close()
        assert server.child.wait(300) == 0


def test_idle_and_stuck_clients_do_not_hold_the_process(tmp_path: Path) -> None:
    more = {"timeout": "1h", "body_timeout": "1h"}  # only the end of the process ends the request
    with fake_server(tmp_path, drain="0s", grace="2s", **more) as server:
        idle, stuck = server.secure_socket(), server.secure_socket()
        stuck.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        until(lambda: server.metric("policyd_in_flight_requests") == 1, "the request")
        assert server.terminate() == 0
        idle.close()
        stuck.close()

"""A log that cannot be written never becomes an answer, and blocks none."""

import os
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.builders.reviews import body
from tests.server.process import Process, until
from tests.server.serve import DENY, command, write_policy
from tests.shared import ROOT

LOST = "policyd_log_lines_lost_total"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Unheard(Process):
    """A server whose log the test has."""

    def __init__(self, policies: Path, stderr: Any, prefix: tuple[str, ...] = ()) -> None:
        self.port, self.admin_port = free_port(), free_port()
        flags = ["--bind", f"127.0.0.1:{self.port}", "--admin-bind", f"127.0.0.1:{self.admin_port}"]
        self.child = subprocess.Popen(
            [*prefix, *command(policies, *flags)], cwd=ROOT, stderr=stderr
        )
        until(self.answers, "readiness")

    def answers(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def denied(self) -> bool:
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n" * 200}}
        status, answer = self.post("/validate", body(object={**obj, "data": {"forbidden": "x"}}))
        return status == 200 and answer["response"]["status"]["code"] == 422


def unheard(tmp_path: Path, stderr: Any, prefix: tuple[str, ...] = ()) -> Unheard:
    return Unheard(write_policy(tmp_path / "policies", "p", DENY).parent, stderr, prefix)


def test_a_reader_that_went_away(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with unheard(tmp_path, writing) as server:
        os.close(writing)
        os.close(reading)
        assert all(server.denied() for _ in range(3))
        until(lambda: server.metric(LOST) >= 3, "the count of lost lines")
        assert server.terminate() == 0


def test_a_reader_that_stalls_and_comes_back(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with unheard(tmp_path, writing) as server:
        os.close(writing)
        connection = server.connect()
        for _ in range(400):  # some 200 KB; a pipe takes 64
            connection.request("POST", "/validate", denied_body())
            assert connection.getresponse().read().count(b"no TEXT")
        assert server.get("/livez") == (200, "ok")
        assert server.metric(LOST) == 0
        read: list[bytes] = []
        reader = threading.Thread(
            target=lambda: read.extend(iter(lambda: os.read(reading, 65536), b""))
        )
        reader.start()
        until(lambda: b"".join(read).count(b'"event":"denial"') == 400, "all denials")
        connection.close()
        assert server.terminate() == 0
        reader.join()
        assert b'"event":"stopped"' in b"".join(read)
    os.close(reading)


def denied_body() -> bytes:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n" * 200}}
    return body(object={**obj, "data": {"forbidden": "x"}})


def test_a_reader_that_never_comes_does_not_hold_up_the_end(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with unheard(tmp_path, writing) as server:
        os.close(writing)
        connection = server.connect()
        for _ in range(400):
            connection.request("POST", "/validate", denied_body())
            assert connection.getresponse().read().count(b"no TEXT")
        connection.close()
        assert server.terminate() == 0
    os.close(reading)


def test_a_device_without_room(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full, unheard(tmp_path, full) as server:
        assert all(server.denied() for _ in range(3))
        until(lambda: server.metric(LOST) >= 3, "the count of lost lines")
        assert server.terminate() == 0


def test_no_standard_error_at_all(tmp_path: Path) -> None:
    closed = ("sh", "-c", 'exec "$@" 2>&-', "sh")
    with unheard(tmp_path, None, closed) as server:
        assert all(server.denied() for _ in range(3))
        assert server.metric(LOST) >= 3
        assert server.terminate() == 0

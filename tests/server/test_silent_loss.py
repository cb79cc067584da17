"""Policies do not vanish from a running server, and its watches do not go deaf."""

import json
import os
import socket
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.builders.reviews import body
from tests.e2e.cluster import free_ports
from tests.server.process import PATIENCE, Process, fake_server, texts, until, write_sources
from tests.server.serve import DENY, command, serving, write_policy
from tests.server.waiting import started


def last_reload(server: Process) -> Any:
    return json.loads(server.get("/policies")[1])["lastReload"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_start_without_policies_accepts_no_requests_until_they_come(
    tmp_path: Path, workers: str
) -> None:
    """An empty set would allow everything; without an answer the failurePolicy decides."""
    folder = tmp_path / "policies"
    folder.mkdir()
    review_port, admin_port = free_ports(2)
    flags = ["--workers", workers, "--bind", f"127.0.0.1:{review_port}"]
    flags += ["--admin-bind", f"127.0.0.1:{admin_port}"]

    def get(path: str) -> tuple[int, str]:
        with closing(HTTPConnection("127.0.0.1", admin_port, timeout=PATIENCE)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    with started(command(folder, *flags), tmp_path / "server.log") as server:
        line = server.line("waiting")
        assert line["level"] == "error" and "hold no policies" in line["message"]
        status, text = until(lambda: served(get, "/readyz"), "the admin port")
        assert status == 503 and "hold no policies" in text
        metrics = get("/metrics")[1]
        assert "policyd_policy_set_empty 1.0" in metrics
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", review_port), PATIENCE)
        assert "no policies to serve" in server.line("reload")["message"]
        assert "hold no policies" in str(server.line("reload")["errors"])
        write_policy(folder, "p", DENY)
        assert server.line("listening")["message"] == "ready for admission requests"
        until(lambda: get("/readyz") == (200, "ok"), "readiness")
        socket.create_connection(("127.0.0.1", review_port), PATIENCE).close()


def served(get: Callable[[str], tuple[int, str]], path: str) -> tuple[int, str] | None:
    """The answer, as soon as there is one."""
    try:
        return get(path)
    except ConnectionRefusedError:
        return None


def test_a_start_without_policies_is_ready_where_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    with serving(tmp_path, folder, "--allow-empty") as server:
        assert server.get("/readyz") == (200, "ok")
        assert server.metric("policyd_policy_set_empty") == 1
        assert [row["level"] for row in server.lines("empty")] == ["warning"]


def test_a_watch_survives_whatever_appears_in_its_folder(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    with fake_server(tmp_path, sources) as server:
        os.mkfifo(sources / "fifo")
        for name in ("l1", "l2"):
            (sources / name).symlink_to(".")
        (sources / "self").symlink_to("self")
        (sources / os.fsdecode(b"\xff")).write_text("x")
        write_sources(sources, b="allow b")
        until(lambda: texts(server.post("/validate", body())[1]) == ["a", "b"], "b")
        write_sources(sources, c="allow c")
        until(lambda: texts(server.post("/validate", body())[1]) == ["a", "b", "c"], "c")
        assert server.metric('policyd_watch_healthy{watch="policies"}') == 1


def test_a_fifo_among_policies_is_an_error_and_blocks_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    write_policy(folder, "p", DENY)
    with serving(tmp_path, folder) as server:
        os.mkfifo(folder / "f.yaml")
        until(lambda: not last_reload(server)["succeeded"], "the refusal")
        assert last_reload(server)["errors"] == [
            f"{folder}/f.yaml: cannot be read: expected a regular file, got a FIFO"
        ]
        (folder / "f.yaml").unlink()
        until(lambda: last_reload(server)["succeeded"], "the mended set")

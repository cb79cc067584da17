"""``policyd serve --workers``: several processes that are one server to everybody else."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSON
from tests.builders.reviews import body
from tests.server.load import Load
from tests.server.process import Process, ended, sockets, until
from tests.server.serve import DENY, command, serving, write_policy

FORBIDDEN: dict[str, JSON] = {"object": {"data": {"forbidden": "x"}}}


def policies(tmp_path: Path) -> Path:
    return write_policy(tmp_path / "policies", "named", DENY).parent


@contextmanager
def two(tmp_path: Path, *flags: str) -> Iterator[Process]:
    """A server with two workers, both of which serve."""
    with serving(tmp_path, policies(tmp_path), "--workers", "2", *flags) as server:
        until(lambda: server.lines("workers"), "all workers")
        yield server


def allowed_total(server: Process) -> float:
    return sum(
        float(line.rpartition(" ")[2])
        for line in server.get("/metrics")[1].splitlines()
        if line.startswith("policyd_admission_requests_total")
    )


def generations(server: Process) -> set[str]:
    text = server.get("/metrics")[1].splitlines()
    return {line.split('generation="')[1][:16] for line in text if "policy_set_info{" in line}


@pytest.mark.usefixtures("http_server")
def test_all_workers_answer_and_their_counts_are_summed(tmp_path: Path) -> None:
    with two(tmp_path) as server:
        for _ in range(30):
            assert server.post("/validate", body())[0] == 200
        # A worker that is late when metrics are gathered has its last ones shown.
        until(lambda: allowed_total(server) == 30, "all counts")
        assert server.metric('policyd_admission_duration_seconds_count{webhook="validate"}') == 30
        assert server.metric('policyd_workers{state="serving"}') == 2
        assert server.metric('policyd_workers{state="starting"}') == 0
        assert server.metric("policyd_worker_generations") == 1
        assert server.metric('policyd_policies{kind="Policy",state="active"}') == 1
        assert server.metric('policyd_reloads_total{result="success"}') == 2
        assert server.metric("process_resident_memory_bytes") > server.resident() * 2
        assert server.get("/readyz") == (200, "ok")
        openmetrics = server.get("/metrics", "application/openmetrics-text")[1]
        assert openmetrics.endswith("# EOF\n")
        assert server.terminate() == 0


@pytest.mark.usefixtures("http_server")
def test_policies_show_the_counters_of_all(tmp_path: Path) -> None:
    with two(tmp_path) as server:
        for _ in range(10):
            answer = server.post("/validate", body(**FORBIDDEN))[1]
            assert not answer["response"]["allowed"]
        for path in ("/policies", "/policies/named"):
            shown = json.loads(server.get(path)[1])["policies"][0]["counters"]
            assert shown["decisions"]["deny"] == 10
            assert shown["seconds"] > 0


@pytest.mark.usefixtures("http_server")
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_loses_only_its_own_requests(tmp_path: Path, victim: int) -> None:
    with two(tmp_path) as server:
        killed = server.children()[victim]
        others = sockets(killed)
        with Load(server, threads=6, pause=0.02) as load:
            until(lambda: len(load.answers) > 200, "some load")
            before = allowed_total(server)
            time.sleep(2.5)  # so that these counts are known to the supervisor
            own = sockets(killed) - others
            os.kill(killed, signal.SIGKILL)
            answered = len(load.answers)
            until(lambda: len(load.answers) > answered + 100, "answers meanwhile")
            until(lambda: restarted(server), "another worker")
            until(lambda: len(server.children()) == 2, "two workers")
            assert allowed_total(server) >= before
            load.stop()
        # At most one request of each connection was in the dead worker. Nobody was refused.
        assert len(load.failures) <= own
        assert load.refused == 0
        assert server.get("/readyz") == (200, "ok")
        assert "SIGKILL" in server.lines("worker")[0]["message"]
        assert server.terminate() == 0


def restarted(server: Process) -> bool:
    return server.metric("policyd_worker_restarts_total") == 1 and (
        server.metric('policyd_workers{state="serving"}') == 2
    )


def test_ready_while_a_worker_is_started_again(tmp_path: Path) -> None:
    with two(tmp_path) as server:
        os.kill(server.children()[0], signal.SIGKILL)
        seen = []
        while not quietly(lambda: restarted(server)):
            seen.append(quietly(lambda: server.get("/readyz")))
        # None: the request was in the worker that died.
        assert set(seen) <= {(200, "ok"), None}
        assert seen.count(None) <= 1


def test_counts_never_go_back(tmp_path: Path) -> None:
    """Not when a worker is killed, nor when a policy changes and its counters begin anew."""
    folder = policies(tmp_path)
    deny = 'policyd_policy_decisions_total{decision="deny",policy="named"}'
    with two(tmp_path) as server:
        for _ in range(10):
            server.post("/validate", body(**FORBIDDEN))

        def counts() -> tuple[float, float]:
            return server.metric(deny), allowed_total(server)

        until(lambda: counts() == (10, 10), "all counts")
        for pid in server.children():
            os.kill(pid, signal.SIGKILL)
            until(lambda: len(server.lines("worker")) > 0, "its end")
            until(
                lambda: quietly(lambda: server.metric('policyd_workers{state="serving"}')) == 2,
                "two workers",
            )
        assert counts() == (10, 10)
        write_policy(folder, "named", DENY.replace("TEXT", "more"))
        before = generations(server)
        until(lambda: generations(server) != before, "the new set")
        server.post("/validate", body(**FORBIDDEN))
        until(lambda: counts() == (11, 11), "one more")


def quietly(get: Any) -> Any:
    """None while nobody answers."""
    try:
        return get()
    except (OSError, HTTPException):
        return None


@pytest.mark.usefixtures("http_server")
def test_a_reload_reaches_all_workers(tmp_path: Path) -> None:
    folder = policies(tmp_path)
    with two(tmp_path) as server:
        first = generations(server)
        write_policy(folder, "second", DENY)
        server.child.send_signal(signal.SIGHUP)
        until(lambda: generations(server) != first, "a new generation")
        # It is shown when all use it.
        assert server.metric("policyd_worker_generations") == 1
        assert server.metric('policyd_policies{kind="Policy",state="active"}') == 2
        for _ in range(8):
            assert server.post("/validate/policy/second", body())[0] == 200
        assert server.terminate() == 0


def test_a_restarted_worker_serves_what_the_files_hold_now(tmp_path: Path) -> None:
    folder = policies(tmp_path)
    with two(tmp_path) as server:
        first = generations(server)
        write_policy(folder, "second", DENY)
        until(lambda: generations(server) != first, "a new generation")
        second = generations(server)
        os.kill(server.children()[0], signal.SIGKILL)
        until(lambda: restarted(server), "another worker")
        assert server.metric("policyd_worker_generations") == 1
        assert generations(server) == second


@pytest.mark.usefixtures("http_server")
def test_drain_under_load_loses_nothing(tmp_path: Path) -> None:
    with two(tmp_path, "--drain", "0.5s") as server, Load(server) as load:
        until(lambda: len(load.answers) > 50, "some load")
        server.child.terminate()
        until(lambda: len(server.lines("draining")) == 2, "the drain")
        assert server.get("/readyz") == (200, "ok")
        assert server.post("/validate", body())[0] == 200
        answered = len(load.answers)
        until(lambda: len(load.answers) > answered + 10, "answers while draining")
        load.stop()
        assert (load.failures, load.refused) == ([], 0)
        assert server.child.wait(300) == 0
        assert len(server.lines("stopped")) == 3


@pytest.mark.usefixtures("http_server")
def test_the_port_stays_open_while_any_worker_is_asked(tmp_path: Path) -> None:
    """A worker without requests must not close the socket that all share."""
    with two(tmp_path, "--drain", "1s") as server, Load(server, threads=1) as load:
        until(lambda: len(load.answers) > 20, "some load")
        begin = time.monotonic()
        server.child.terminate()
        until(lambda: time.monotonic() - begin > 2.5, "more than the quiet period")
        assert server.post("/validate", body())[0] == 200
        load.stop()
        assert (load.failures, load.refused) == ([], 0)
        assert server.child.wait(300) == 0


def test_a_worker_does_not_drain_alone(tmp_path: Path) -> None:
    """It would close the socket that all share. A terminal sends SIGINT to every process."""
    with two(tmp_path) as server:
        for number in (signal.SIGTERM, signal.SIGINT):
            for pid in server.children():
                os.kill(pid, number)
        until(lambda: len(server.lines("signal")) == 4, "the signals")
        assert server.post("/validate", body())[0] == 200
        assert server.metric("policyd_worker_restarts_total") == 0
        server.child.send_signal(signal.SIGINT)
        assert server.child.wait(300) == 0


@pytest.mark.usefixtures("http_server")
def test_workers_end_with_the_supervisor(tmp_path: Path) -> None:
    with two(tmp_path) as server:
        workers = server.children()
        assert len(workers) == 2
        server.kill()
        until(lambda: not any(alive(pid) for pid in workers), "the end of the workers")
        until(lambda: is_refused(server.port), "a closed port")


def is_refused(port: int) -> bool:
    """Whether nobody listens; threads of a killed process may hold the port for a moment."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has reaped yet does not."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_errors_of_the_policies_are_logged_once(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    write_policy(folder, "broken", "validations: [{expression: 'object.'}]")
    (folder / "broken.yaml").write_text("kind: Policy\n")
    with pytest.raises(AssertionError, match="the server ended"):
        Process(command(folder, "--workers", "3"), tmp_path / "server.log")
    lines = [json.loads(line) for line in (tmp_path / "server.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start"]


@pytest.mark.parametrize("flag", ["--max-connections", "--max-in-flight"])
def test_limits_that_cannot_be_divided_are_refused(tmp_path: Path, flag: str) -> None:
    arguments = command(policies(tmp_path), "--workers", "4", flag, "3")
    status, errors = ended(arguments)
    assert status == 2
    assert f"{flag} 3 cannot be divided among 4 workers" in errors


def test_each_worker_has_its_part_of_the_limits(tmp_path: Path) -> None:
    with two(tmp_path, "--max-connections", "8") as server:
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(24)]
        until(lambda: server.metric(FULL) + server.metric(ROOM) >= 12, "closed connections")
        idle, busy = server.metric(IDLE), server.metric(BUSY)
        assert idle + busy <= 10  # eight, and an eighth of them that is closing
        for each in held:
            each.close()


FULL = 'policyd_closed_connections_total{port="reviews",reason="full"}'
ROOM = 'policyd_closed_connections_total{port="reviews",reason="room"}'
IDLE = 'policyd_connections{port="reviews",state="idle"}'
BUSY = 'policyd_connections{port="reviews",state="busy"}'


def test_captures_of_all_workers_are_kept(tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    with two(tmp_path, "--capture", str(captures)) as server:
        for _ in range(20):
            server.post("/validate", body())
        assert server.terminate() == 0
    lines = [line for each in captures.glob("*.jsonl") for line in each.read_text().splitlines()]
    assert len(lines) == 20
    assert len(list(captures.glob("*.jsonl"))) == 2

"""A server that is killed, told to end, or stopped under load, and one that starts again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.builders.reviews import body
from tests.faults.asking import ask
from tests.server.load import Load
from tests.server.process import Process, until
from tests.server.serve import DENY, command, serving, write_policy
from tests.shared import ROOT


def test_a_killed_server_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    """SIGKILL under load: the same command starts again, on the same port and files, at once."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    flags = ["--last-good", str(tmp_path / "kept" / "good"), "--capture", str(tmp_path / "seen")]
    (tmp_path / "kept").mkdir()
    with serving(tmp_path, policies, *flags) as first, Load(first, threads=2) as load:
        until(lambda: len(load.answers) > 50, "some load")
        first.child.send_signal(signal.SIGKILL)
        first.child.wait()
        until(lambda: load.refused == 2, "the clients to notice")
        # Each client lost at most the request that was under way, and one that found the end.
        assert len(load.failures) <= 4
    again = command(policies, *flags, "--bind", f"127.0.0.1:{first.port}")
    with Process(again, tmp_path / "second.log") as second:
        assert second.port == first.port
        assert ask(second, "/validate", body()).response["allowed"]
        assert second.terminate() == 0
    replay = [sys.executable, "-m", "policyd", "replay", "-p", str(policies)]
    files = sorted(map(str, (tmp_path / "seen").iterdir()))
    done = subprocess.run([*replay, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr  # no half line was left


def test_a_server_that_was_told_to_end_answers_what_it_has(tmp_path: Path) -> None:
    """SIGTERM under load, with the policies of users instead of fakes."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with serving(tmp_path, policies, "--drain", "300ms") as server, Load(server) as load:
        until(lambda: len(load.answers) > 50, "some load")
        server.child.send_signal(signal.SIGTERM)
        until(lambda: server.lines("draining"), "the drain")
        load.stop()
        assert (load.failures, server.child.wait(300)) == ([], 0)


def test_a_stopped_server_continues_where_it_was(tmp_path: Path) -> None:
    """SIGSTOP, as a frozen node or a debugger does: nothing is lost after SIGCONT, and requests whose
    time passed are answered without an evaluation.
    """
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with serving(tmp_path, policies) as server, Load(server, threads=3) as load:
        until(lambda: len(load.answers) > 50, "some load")
        connection = server.connect()
        connection.request("POST", "/validate?timeout=1s", body())
        assert connection.getresponse().read()
        os.kill(server.child.pid, signal.SIGSTOP)
        connection.request("POST", "/validate?timeout=1s", body())
        answered = len(load.answers)
        time.sleep(1.5)
        assert len(load.answers) <= answered + 3  # those that were on their way
        os.kill(server.child.pid, signal.SIGCONT)
        assert connection.getresponse().read()
        connection.close()
        until(lambda: len(load.answers) > answered + 50, "answers again")
        load.stop()
        assert load.failures == []
        assert server.get("/readyz") == (200, "ok")
        assert not server.lines("defect")

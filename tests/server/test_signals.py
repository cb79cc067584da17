"""Signals that must not end a server, at whatever time they come."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.server.process import Process, fake_server, texts, until
from tests.server.serve import DENY, command, write_policy

HARMLESS = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@pytest.mark.usefixtures("http_server")
def test_sighup_reloads_and_others_are_only_logged(tmp_path: Path) -> None:
    with fake_server(tmp_path) as server:
        before = server.metric('policyd_reloads_total{result="success"}')
        for number in HARMLESS:
            server.child.send_signal(number)
        reloads = 'policyd_reloads_total{result="success"}'
        until(lambda: server.metric(reloads) == before + 1, "the reload")
        until(lambda: len(server.lines("signal")) == 3, "lines of the log")
        said = sorted(line["message"].split()[0].rstrip(":") for line in server.lines("signal"))
        assert said == ["SIGHUP", "SIGUSR1", "SIGUSR2"]
        assert texts(server.post("/validate", body())[1]) == ["a"]
        assert server.terminate() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_that_loads_ends_by_a_handler(number: signal.Signals) -> None:
    """The first process of a container has no default that would end it."""
    code = "; ".join(
        [
            "import os, time, policyd.server.signals as signals",
            "signals.Signals().hold()",
            f"os.kill(os.getpid(), {number.value})",
            "time.sleep(20)",
        ]
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


@pytest.mark.parametrize("number", HARMLESS)
def test_no_signal_ends_a_server_that_starts_or_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    policies = write_policy(tmp_path / "policies", "p", DENY).parent

    class Bombarded(Process):
        """Signals arrive from when the command runs until it has ended."""

        def lines(self, event: str = "") -> list[dict[str, object]]:
            if Path(f"/proc/{self.child.pid}/status").exists() and catches(self.child.pid, number):
                self.child.send_signal(number)
            return super().lines(event)

    with Bombarded(command(policies), tmp_path / "server.log") as server:
        assert server.get("/readyz") == (200, "ok")
        server.child.send_signal(signal.SIGTERM)
        while server.child.poll() is None:
            server.child.send_signal(number)
            time.sleep(0.005)
        assert server.child.returncode == 0


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process ignores or handles a signal; before, it is Python that starts."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    masks = [
        int(line.split()[1], 16)
        for line in status.splitlines()
        if line.startswith(("SigIgn", "SigCgt"))
    ]
    return any(mask >> (number - 1) & 1 for mask in masks)

"""``make demo`` works and shows the documented results."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools.demo import run as demo


@pytest.mark.slow
def test_the_demonstration_ends_well_and_shows_each_kind_of_answer() -> None:
    done = subprocess.run(
        [sys.executable, "tools/demo/run.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for step in demo.steps():
        assert f"== {step.title}" in done.stdout
    assert "spec.hostNetwork must not be true" in done.stdout
    assert '"path": "/spec/containers/0/securityContext"' in done.stdout
    assert "HTTP 400" in done.stdout
    assert 'policyd_policy_decisions_total{decision="deny",policy="baseline-host-' in done.stdout
    assert ".venv/bin/policyd serve" in done.stdout
    assert "INFO" not in done.stdout + done.stderr, "the log of the server has a file of its own"
    assert max(map(len, done.stdout.splitlines())) < 160
    assert "ready for admission requests" in demo.LOG.read_text()


def test_a_server_that_does_not_start_shows_its_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "LOG", tmp_path / "demo.log")
    monkeypatch.setattr(demo, "POLICIES", ("no-such-directory",))
    with pytest.raises(SystemExit, match=r"(?s)no-such-directory.*exited with code 2"):
        demo.main()


def test_what_is_asked_is_said_in_a_line() -> None:
    good, _, _, broken = demo.steps()
    assert demo.summary(good.body).startswith("CREATE Pod ")
    assert demo.summary(broken.body).endswith("bytes that are not JSON")

"""``make demo`` works and shows the documented results."""

import subprocess
import sys

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


def test_what_is_asked_is_said_in_a_line() -> None:
    good, _, _, broken = demo.steps()
    assert demo.summary(good.body).startswith("CREATE Pod ")
    assert demo.summary(broken.body).endswith("bytes that are not JSON")

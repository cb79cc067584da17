"""Continuous integration fails if the end-to-end tests did not run; programs are stubs here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import paired
from tests.shared import ROOT

GO = {
    "new": "echo go version go1.26.8 linux/amd64",
    "old": "echo go version go1.19.8",
    "no": "exit 1",
}
INSTALLS = f"""case "$*" in
*install_go.py*) mkdir -p .cache/go/bin; echo '{GO["new"]}' > .cache/go/bin/go; chmod +x .cache/go/bin/go;;
esac"""
INSTALLS_NOT = 'case "$*" in *install_go.py*) exit 1;; esac'


def run(folder: Path, **programs: str) -> tuple[int, list[str], str]:
    """The exit code of ``.ci/run`` with these programs, the targets of make, and what is printed."""
    for path in (".ci", "bin", "tests/e2e/apiserver"):
        (folder / path).mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    made = folder / "made"
    stubs = {
        "gcc": "",
        "openssl": "",
        "apt-get": "",
        "make": "",
        "python3": "",
        "valgrind": "",
        "git": "exit 128",
        **programs,
    }
    stubs["make"] = f'echo "$*" >> {made}\n{stubs["make"]}'
    for name, body in stubs.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / "bin" / name).chmod(0o755)
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run(
        [folder / ".ci/run"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, sorted(made.read_text().splitlines()), done.stdout + done.stderr


OFFLINE = ["build", "check", "bench-released", "explore", "test"]
# Beside the other steps, so that only their order among themselves is fixed.
BESIDE = ["helm", "e2e", "differential K8S=1.36"]
EVERYTHING = sorted([*OFFLINE, *BESIDE])


def test_with_go_everything_runs(tmp_path: Path) -> None:
    status, targets, printed = run(tmp_path, go=GO["new"], python3=INSTALLS_NOT)
    assert (status, targets) == (0, EVERYTHING), printed


@pytest.mark.parametrize("version", ["old", "no"])
def test_without_go_it_is_installed(tmp_path: Path, version: str) -> None:
    status, targets, printed = run(tmp_path, go=GO[version], python3=INSTALLS)
    assert (status, targets) == (0, EVERYTHING), printed


@pytest.mark.parametrize(("object_name", "seed"), [("0000ff" + "a" * 34, "255"), (None, "chosen")])
def test_a_tree_has_a_seed(tmp_path: Path, object_name: str | None, seed: str) -> None:
    git = f"echo {object_name}" if object_name else "exit 128"
    make = 'echo "the seed is ${POLICYD_SEED:-chosen}"'
    status, _, printed = run(tmp_path, go=GO["new"], git=git, make=make)
    assert status == 0
    assert {each for each in printed.splitlines() if each.startswith("the seed")} == {
        f"the seed is {seed}"
    }


@pytest.mark.parametrize("version", ["old", "no"])
def test_a_run_without_end_to_end_tests_fails(tmp_path: Path, version: str) -> None:
    """The tests run even so, and the reason is printed in front of them."""
    status, targets, printed = run(tmp_path, go=GO[version], python3=INSTALLS_NOT)
    assert (status, targets) == (1, sorted(OFFLINE)), printed
    assert "make e2e, make differential: not run, because there is no Go 1.26" in printed


@pytest.mark.parametrize("target", EVERYTHING)
def test_a_step_that_fails_fails_the_run(tmp_path: Path, target: str) -> None:
    make = f'[ "$*" != "{target}" ]'
    status, targets, printed = run(tmp_path, go=GO["new"], make=make)
    assert (bool(status), targets) == (True, EVERYTHING), printed


OUTCOMES = [
    ("import pytest\n@pytest.mark.skip('why')\ndef test_a(): ...\n", 1, "SKIPPED [1] test_it.py:2: why"),
    ("import pytest\ndef test_a(): pytest.skip('why')\n", 1, "no test passed: the run fails"),
    ("import pytest\n@pytest.fixture\ndef f(): 1 / 0\ndef test_a(f): ...\n", 1, "0 passed, 0 skipped"),
    ("def test_a(): ...\nimport pytest\n@pytest.mark.skip('why')\ndef test_b(): ...\n", 0, "1 passed, 1 skipped"),
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "processes"), paired(OUTCOMES, ["0", "1"]))
def test_end_to_end_tests_must_pass(
    tmp_path: Path, outcome: tuple[str, int, str], processes: str
) -> None:
    tests, status, want = outcome
    (tmp_path / "test_it.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "tests.e2e.required", "-p", "no:cacheprovider",
         "-p", "xdist", "-n", processes, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    assert want in done.stdout

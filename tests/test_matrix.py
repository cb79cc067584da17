"""``make matrix`` tries what pyproject.toml promises, and reports what fails and what is missing."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools.supply import matrix, trial


def test_the_matrix_has_the_pythons_that_are_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [
        each.rpartition(" ")[2]
        for each in project["classifiers"]
        if each.startswith("Programming Language :: Python ::")
    ]
    assert promised == list(matrix.VERSIONS)
    assert project["requires-python"] == f">={promised[0]}"


class Some(matrix.Place):
    """A system with Python 3.11 and 3.13, where the trial fails with 3.13."""

    def has(self, version: str) -> bool:
        return version in ("3.11", "3.13")


@pytest.mark.parametrize(("broken", "status"), [("3.13", True), ("", False)])
def test_every_python_has_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: str, status: bool
) -> None:
    monkeypatch.setattr(matrix, "Place", Some)
    monkeypatch.setattr(matrix, "trial", lambda _, version: "it broke" if version == broken else "")
    monkeypatch.setattr(sys, "argv", ["matrix"])
    with pytest.raises(SystemExit) as ended:
        matrix.main()
    assert ended.value.code is status
    assert capsys.readouterr().out.splitlines() == [
        "Python 3.11: works",
        "Python 3.12: missing, not tried",
        f"Python 3.13: {'it broke' if broken else 'works'}",
        "Python 3.14: missing, not tried",
    ]


def test_a_python_has_to_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pyenv has a program for each Python that it could select, which fails for the others."""
    for name, script in (("python8.1", "exit 0"), ("python8.2", "exit 127")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    here = matrix.Place(None)
    assert [here.has(each) for each in ("8.1", "8.2", "8.3")] == [True, False, False]


def test_a_step_that_fails_ends_the_trial_with_its_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        matrix,
        "_steps",
        lambda *_: iter([("one", ("true",)), ("two", ("sh", "-c", "echo why; exit 3"))]),
    )
    assert matrix.trial(matrix.Place(tmp_path), "3.11") != ""
    assert matrix.trial(matrix.Place(None), "3.11") == "two failed\nwhy\n"


def test_the_installed_package_is_tried_not_that_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "policyd").mkdir()
    (tmp_path / "policyd" / "__init__.py").write_text("raise SystemExit('of the source tree')\n")
    command = [*trial.POLICYD, "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

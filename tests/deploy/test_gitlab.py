"""The jobs for GitLab: their scripts run as a runner runs them."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.program import program
from tests.deploy.projects import POD, POLICY, PYTHON, SUITE, Repository
from tests.shared import ROOT

JOBS: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "deploy/ci/gitlab.yml").read_text())
BASE = JOBS[".policyd"]
# Bash, or what an image without it has.
SHELLS = (("bash", "-eo", "pipefail"), ("sh", "-e"))


def test_jobs_are_templates_that_extend_one() -> None:
    """https://docs.gitlab.com/ci/yaml/: a job whose name begins with a dot runs only if it is extended."""
    assert JOBS.keys() == {".policyd", ".policyd-lint", ".policyd-test", ".policyd-apply"}
    for name, job in JOBS.items():
        if name != ".policyd":
            assert job.keys() == {"extends", "script", "artifacts"} and job["extends"] == ".policyd"
            assert job["artifacts"]["reports"].keys() <= {"junit", "codequality"}
    assert all(isinstance(each, str) for each in BASE["variables"].values())


class Runner:
    """A project in a folder, and what runs its jobs."""

    def __init__(self, folder: Path, shell: tuple[str, ...]) -> None:
        files = {
            "policies/policy.yaml": POLICY,
            "policies/suite.yaml": SUITE,
            "deploy/pod.yaml": POD,
        }
        self.project = Repository(folder / "project", files)
        self.temp, self._shell = folder / "temp", shell
        self.temp.mkdir()
        python = self.temp / "python3"
        python.write_text(PYTHON)
        python.chmod(0o755)

    def run(self, job: str, given: Mapping[str, str] | None = None) -> tuple[int, str]:
        """The exit status of a job with these variables, and what it prints."""
        script = self.temp / "script.sh"
        script.write_text("\n".join([*BASE["before_script"], *JOBS[job]["script"]]))
        environment = {
            "PATH": f"{self.temp}:{program().parent}:{os.environ['PATH']}",
            "HOME": str(self.temp),
            "CI_BUILDS_DIR": str(self.temp / "builds"),
            **BASE["variables"],
            "POLICYD_PACKAGE": "policyd==VERSION",
            "POLICYD_MANIFESTS": "deploy/",
            **(given or {}),
        }
        done = subprocess.run(
            [*self._shell, script],
            cwd=self.project.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout

    def report(self, job: str, kind: str) -> str:
        """A report of a job that has run."""
        name: str = JOBS[job]["artifacts"]["reports"][kind]
        return (self.project.folder / name).read_text()


@pytest.fixture(params=SHELLS, ids=["bash", "sh"])
def runner(tmp_path: Path, request: pytest.FixtureRequest) -> Runner:
    """A runner with one of the shells."""
    return Runner(tmp_path, request.param)


def test_lint(runner: Runner) -> None:
    assert runner.run(".policyd-lint")[0] == 0
    assert json.loads(runner.report(".policyd-lint", "codequality")) == []
    runner.project.commit({"policies/policy.yaml": POLICY.replace("'team' in", "team in")})
    status, printed = runner.run(".policyd-lint")
    assert status == 1 and "policies/policy.yaml:9" in printed
    (found,) = json.loads(runner.report(".policyd-lint", "codequality"))
    assert found["location"] == {"path": "policies/policy.yaml", "lines": {"begin": 9}}


def test_suites(runner: Runner) -> None:
    assert runner.run(".policyd-test")[0] == 0
    runner.project.commit({"policies/suite.yaml": SUITE.replace("false", "true")})
    status, printed = runner.run(".policyd-test")
    assert status == 1 and "--- FAIL: team/without a team" in printed
    suites = ElementTree.fromstring(runner.report(".policyd-test", "junit"))
    assert (suites.get("tests"), suites.get("failures")) == ("1", "1")


def test_manifests(runner: Runner) -> None:
    status, printed = runner.run(".policyd-apply")
    assert status == 1 and "denied  Pod web" in printed
    suites = ElementTree.fromstring(runner.report(".policyd-apply", "junit"))
    assert (suites.get("tests"), suites.get("failures")) == ("1", "1")
    (found,) = json.loads(runner.report(".policyd-apply", "codequality"))
    assert (found["check_name"], found["location"]["path"]) == ("team", "deploy/pod.yaml")
    assert runner.run(".policyd-apply", {"POLICYD_ARGS": "--operation DELETE"})[0] == 0


def test_only_changed_manifests(runner: Runner) -> None:
    first = runner.project.head()
    only = {"POLICYD_ONLY_CHANGED": "true"}
    merge = {**only, "CI_MERGE_REQUEST_DIFF_BASE_SHA": first}
    assert runner.run(".policyd-apply", merge)[0] == 0
    assert runner.run(".policyd-apply", {**only, "CI_COMMIT_BEFORE_SHA": first})[0] == 0
    for unknown in ("", "0" * 40, "1" * 40):
        status, printed = runner.run(".policyd-apply", {**only, "CI_COMMIT_BEFORE_SHA": unknown})
        assert status == 1 and "all manifests are checked" in printed
    runner.project.commit({"policies/policy.yaml": POLICY.replace("no team", "say your team")})
    status, printed = runner.run(".policyd-apply", merge)
    assert status == 1 and "the policies have changed: all manifests are checked" in printed


def test_what_is_installed(runner: Runner) -> None:
    assert runner.run(".policyd-lint")[0] == 0
    calls = (runner.temp / "calls").read_text().splitlines()
    assert calls[-1] == "-m pip install --quiet -- policyd==VERSION"
    status, printed = runner.run(".policyd-lint", {"POLICYD_PACKAGE": ""})
    assert status != 0 and "POLICYD_PACKAGE: set it to what pip installs" in printed

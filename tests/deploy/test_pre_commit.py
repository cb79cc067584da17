"""The hooks, by pre-commit itself. Only the environment is not that of pre-commit, except in the last
test: policyd is the one in development, which needs no compiler.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.cli import COMMANDS
from tests.deploy.projects import POD, POLICY, PROGRAMS, SUITE, Repository
from tests.sampling import share
from tests.shared import ROOT
from tools.tree import files

FILE = ROOT / ".pre-commit-hooks.yaml"
HOOKS: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())
GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(GIT is None, reason="there is no git")
TEAM = POD.replace("name: web", "name: web, labels: {team: a}")


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    """A project that uses all hooks."""
    hooks = Repository(tmp_path / "hooks", {FILE.name: FILE.read_text()})
    used = [{"id": each["id"], "language": "system"} for each in HOOKS]
    config = {"repos": [{"repo": str(hooks.folder), "rev": hooks.head(), "hooks": used}]}
    files = {
        ".pre-commit-config.yaml": yaml.safe_dump(config),
        "policyd.yaml": "policies: [policies]\n",
        "policies/policy.yaml": POLICY,
        "policies/suite.yaml": SUITE,
        "deploy/old.yaml": POD,
        "values.yaml": "replicas: 2\n",
    }
    return Repository(tmp_path / "project", files)


def test_pre_commit_accepts_the_file() -> None:
    command: list[str | Path] = [PROGRAMS / "pre-commit", "validate-manifest", FILE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_hook_is_a_command() -> None:
    for hook in HOOKS:
        program, command, *_ = hook["entry"].split()
        assert (program, hook["id"]) == ("policyd", f"policyd-{command}") and command in COMMANDS


CHANGES: list[tuple[dict[str, str], dict[str, str]]] = [
    # What is staged, and the outcome of hooks, with a part of what they print if they fail.
    ({"README.md": "text\n"}, {"lint": "Skipped", "test": "Skipped", "apply": "Skipped"}),
    ({"deploy/new.yaml": TEAM}, {"lint": "Passed", "test": "Passed", "apply": "Passed"}),
    ({"values.yaml": "replicas: 3\n"}, {"lint": "Passed", "test": "Passed", "apply": "Passed"}),
    ({"deploy/new.yaml": POD}, {"lint": "Passed", "test": "Passed", "apply": "denied  Pod web"}),
    ({"policies/suite.yaml": SUITE.replace("false", "true")}, {"lint": "Passed", "test": "--- FAIL: team/without a team"}),
    ({"policies/policy.yaml": POLICY.replace("'team' in", "team in")}, {"lint": "policy.yaml:9", "apply": "policy.yaml:9"}),
]  # fmt: skip


@pytest.mark.parametrize(("staged", "outcomes"), CHANGES)
def test_what_a_change_runs(
    project: Repository, staged: dict[str, str], outcomes: dict[str, str]
) -> None:
    project.stage(staged)
    status = 0 if {*outcomes.values()} <= {"Passed", "Skipped"} else 1
    printed = project.run("pre-commit", "run", status=status)
    of_hooks = dict(re.findall(r"^policyd (\w+)(.*?)(?=^policyd |\Z)", printed, re.M | re.S))
    for command, outcome in outcomes.items():
        assert outcome in of_hooks[command], printed


def test_arguments_name_the_policies(project: Repository) -> None:
    """Without a project file."""
    config = project.folder / ".pre-commit-config.yaml"
    written = yaml.safe_load(config.read_text())
    for hook in written["repos"][0]["hooks"]:
        apply = hook["id"] == "policyd-apply"
        hook["args"] = ["-p", "policies/"] if apply else ["policies/"]
    (project.folder / "policyd.yaml").unlink()
    project.stage({config.name: yaml.safe_dump(written), "deploy/old.yaml": TEAM})
    printed = project.run("pre-commit", "run", "--all-files")
    assert printed.count("Passed") == len(HOOKS)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(share() < 1, reason="make acceptance runs it: it compiles policyd for minutes")
def test_pre_commit_installs_policyd(project: Repository) -> None:
    """From its source, with what its build needs from the package index."""
    names = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", FILE.name)
    sources = {name: (ROOT / name).read_bytes() for name in (*names, *files("policyd"))}
    hooks = Repository(project.folder.parent / "source", sources)
    used = [{"id": each["id"]} for each in HOOKS]
    config = {"repos": [{"repo": str(hooks.folder), "rev": hooks.head(), "hooks": used}]}
    project.stage({".pre-commit-config.yaml": yaml.safe_dump(config), "deploy/old.yaml": TEAM})
    printed = project.run("pre-commit", "run", "--all-files", seconds=3000)
    assert len([*(project.folder.parent / "cache").rglob("bin/policyd")]) == 1
    assert printed.count("Passed") == len(HOOKS)

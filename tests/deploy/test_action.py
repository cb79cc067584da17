"""The action for workflows of GitHub: the scripts of its steps run as a runner runs them."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import program
from tests.deploy.projects import POD, POLICY, PYTHON, Repository
from tests.shared import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
INPUTS: dict[str, dict[str, Any]] = ACTION["inputs"]
STEPS: dict[str, dict[str, Any]] = {each["name"]: each for each in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
ANNOTATION = "title=team::Pod web: "


def test_it_has_what_a_composite_action_needs() -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax"""
    assert ACTION.keys() == {"name", "description", "inputs", "outputs", "runs", "branding"}
    assert ACTION["runs"].keys() == {"using", "steps"} and ACTION["runs"]["using"] == "composite"
    for name, given in INPUTS.items():
        assert given["description"] and given.keys() <= {"description", "required", "default"}
        assert given.get("required") or isinstance(given["default"], str), name
    for step in STEPS.values():
        assert step.keys() <= {"name", "id", "shell", "env", "run"} and step["shell"] == "bash"
    for output in ACTION["outputs"].values():
        assert output["description"]
        (used,) = EXPRESSION.findall(output["value"])
        _, id_, _, name = used.split(".")
        (script,) = (each["run"] for each in STEPS.values() if each.get("id") == id_)
        assert f'"{name}=' in script


def test_scripts_get_what_others_write_by_variables() -> None:
    """An expression in a script would be code of whoever names a branch."""
    used = set()
    for step in STEPS.values():
        assert "${{" not in step["run"]
        for name, value in step["env"].items():
            (expression,) = EXPRESSION.findall(value)
            assert value == f"${{{{ {expression} }}}}"
            assert re.search(rf"\${{?{name}\b", step["run"]), f"{name} is not used"
            used.add(expression)
    assert used == {"github.action_path", *(f"inputs.{name}" for name in INPUTS)}


@dataclass(frozen=True, slots=True)
class Ran:
    """A step that has ended."""

    status: int
    printed: str
    outputs: dict[str, str]


class Runner:
    """A runner in a folder: a workspace, and files for the steps."""

    def __init__(self, folder: Path) -> None:
        self.temp = folder / "temp"
        self.temp.mkdir()
        self.workspace = Repository(
            folder / "work", {"policies/policy.yaml": POLICY, "deploy/pod.yaml": POD}
        )

    def installed(self) -> "Runner":
        """The same, with policyd where the first step installs it."""
        folder = self.temp / "policyd" / "bin"
        folder.mkdir(parents=True)
        (folder / "policyd").symlink_to(program())
        return self

    def run(self, step: str, given: Mapping[str, str]) -> Ran:
        """Run the script of a step with these inputs; the others have their defaults."""
        assert given.keys() <= INPUTS.keys()
        values = {f"inputs.{name}": each.get("default", "") for name, each in INPUTS.items()}
        values["inputs.base"] = ""
        values |= {f"inputs.{name}": value for name, value in given.items()}
        values["github.action_path"] = str(ROOT)
        script, outputs = self.temp / "script.sh", self.temp / "outputs"
        script.write_text(STEPS[step]["run"])
        outputs.write_text("")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.temp),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(outputs),
            **{name: values[value[4:-3]] for name, value in STEPS[step]["env"].items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.workspace.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        pairs = (line.partition("=") for line in outputs.read_text().splitlines())
        return Ran(done.returncode, done.stdout, {name: value for name, _, value in pairs})


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner with policyd."""
    return Runner(tmp_path).installed()


RUNS: list[tuple[dict[str, str], int, str]] = [
    # The inputs, the exit status of the step, and a part of what it prints.
    ({"command": "lint", "paths": "policies"}, 0, ""),
    ({"command": "lint", "paths": "policies", "args": "--rules"}, 0, "unguarded-field"),
    ({"command": "lint", "paths": "deploy\n\npolicies\n"}, 0, ""),
    ({"command": "apply", "paths": "deploy", "policies": "policies"}, 1, f"::error file=deploy/pod.yaml,line=3,col=1,{ANNOTATION}"),
    ({"command": "apply", "paths": "deploy", "policies": "policies", "annotations": "false"}, 1, "denied  Pod web"),
    ({"command": "apply", "paths": "deploy", "policies": "policies", "args": "--operation\nDELETE"}, 0, ""),
    ({"command": "apply", "paths": "deploy\nmissing.yaml", "policies": "policies"}, 2, "missing.yaml"),
    ({"command": "test", "paths": "policies"}, 2, "no suites"),
    ({"command": "serve"}, 2, "::error::command: expected lint, test or apply"),
    ({"command": "lint", "annotations": "yes"}, 2, "expected true or false"),
    ({"command": "lint", "policies": "policies"}, 2, "name the policies of lint under paths"),
    ({"command": "lint", "only-changed": "true"}, 2, "only-changed: needs command apply"),
    ({"command": "apply", "only-changed": "true"}, 2, "name the policies under policies"),
    ({"command": "lint", "sarif": "a\nstatus=0"}, 2, "::error::sarif: expected one line"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "status", "printed"), RUNS)
def test_a_command_runs(runner: Runner, given: dict[str, str], status: int, printed: str) -> None:
    ran = runner.run("Run policyd", given)
    assert ran.status == status, ran.printed
    assert printed in ran.printed and "unbound variable" not in ran.printed, ran.printed
    refused = "::error::" in ran.printed
    assert ran.outputs == ({} if refused else {"status": str(status)})


HOSTILE = [
    "$(touch made)",
    "`touch made`",
    "a b; touch made",
    "--output-dir=made",
    "'\"; touch made #",
    "*",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_inputs_are_never_code(runner: Runner, text: str) -> None:
    for name in ("paths", "policies", "base", "command", "annotations", "only-changed", "sarif"):
        usual = {"command": "apply", "paths": "deploy", "policies": "policies", "sarif": ""}
        runner.run("Run policyd", {**usual, "only-changed": "true", name: text})
    names = {each.name for each in runner.workspace.folder.iterdir()} - {text}
    assert names == {".git", "policies", "deploy"}


def test_a_log_for_code_scanning(runner: Runner) -> None:
    apply = {"command": "apply", "paths": "deploy", "policies": "policies"}
    ran = runner.run("Run policyd", {**apply, "sarif": "logs/policyd.sarif"})
    assert ran.status == 1 and ANNOTATION in ran.printed
    assert ran.outputs == {"sarif": "logs/policyd.sarif", "status": "1"}
    (result,) = json.loads((runner.workspace.folder / "logs/policyd.sarif").read_text())["runs"][0][
        "results"
    ]
    assert result["ruleId"] == "team"


def test_no_empty_log_is_left(runner: Runner) -> None:
    """Uploading it would fail and hide what is wrong."""
    ran = runner.run("Run policyd", {"command": "test", "paths": "policies", "sarif": "a.sarif"})
    assert (ran.status, ran.outputs) == (2, {"status": "2"})
    assert not (runner.workspace.folder / "a.sarif").exists()


def test_only_changed_manifests_are_checked(runner: Runner) -> None:
    given = {"command": "apply", "paths": "deploy", "policies": "policies", "only-changed": "true"}
    first = runner.workspace.head()

    def ran(base: str) -> Ran:
        return runner.run("Run policyd", {**given, "base": base})

    assert (ran(first).status, ran("").status, ran("0" * 40).status) == (0, 1, 1)
    assert "no commit to compare with: all manifests are checked" in ran("0" * 40).printed
    second = runner.workspace.commit({"deploy/other.yaml": POD.replace("web", "other")})
    changed = ran(first)
    assert changed.status == 1 and "Pod other: " in changed.printed
    assert "Pod web" not in changed.printed
    runner.workspace.commit({"policies/policy.yaml": POLICY.replace("no team", "say your team")})
    everything = ran(second)
    assert "the policies have changed: all manifests are checked" in everything.printed
    assert "Pod other: " in everything.printed and "Pod web: " in everything.printed
    unknown = ran("1" * 40).printed
    assert "::warning::the history lacks the commit" in unknown and "Pod web: " in unknown


def test_manifests_are_compared_with_where_the_branch_began(runner: Runner) -> None:
    """What its base got since then is not a change of the branch."""
    given = {"command": "apply", "policies": "policies", "only-changed": "true"}
    project = runner.workspace
    project.run("git", "switch", "-qc", "branch")
    project.commit({"deploy/pod.yaml": POD.replace("name: web", "name: web, labels: {team: a}")})
    project.run("git", "switch", "-q", "-")
    base = project.commit({"policies/policy.yaml": POLICY.replace("no team", "say your team")})
    project.run("git", "switch", "-q", "-")
    ran = runner.run("Run policyd", {**given, "base": base})
    assert (ran.status, ran.printed) == (0, "")


PACKAGES = [
    ("", str(ROOT)),
    ("1.2.3", "policyd==1.2.3"),
    ("dist/policyd-1.2.3-cp313-cp313-linux_x86_64.whl", "dist/policyd-1.2.3-cp313-cp313-linux_x86_64.whl"),
    ("1.2.3 --index-url x", "policyd==1.2.3 --index-url x"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "package"), PACKAGES)
def test_what_is_installed(tmp_path: Path, version: str, package: str) -> None:
    """pip gets one argument, whatever the version is."""
    runner = Runner(tmp_path)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    ran = runner.run("Install policyd", {"version": version, "python": str(python)})
    assert ran.status == 0, ran.printed
    calls = (runner.temp / "calls").read_text().splitlines()
    venv = runner.temp / "policyd"
    assert calls == [f"-m venv {venv}", f"-m pip install --quiet -- {package}"]


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    ran = Runner(tmp_path).run("Install policyd", {"python": str(python)})
    assert (ran.status, ran.printed) == (
        2,
        "::error::policyd needs Python 3.11 or newer: set the input python\n",
    )


def test_a_wheel_is_installed_and_runs(tmp_path: Path) -> None:
    """With a real venv and a real pip; the wheel has a program of the same name."""
    runner = Runner(tmp_path)
    wheel = tmp_path / "policyd-1.0-py3-none-any.whl"
    info = "policyd-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("a_program.py", "import sys\n\ndef main():\n    print(sys.argv[1:])\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: policyd\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\npolicyd = a_program:main\n")
        file.writestr(f"{info}/RECORD", "")
    ran = runner.run("Install policyd", {"version": str(wheel), "python": sys.executable})
    assert ran.status == 0, ran.printed
    ran = runner.run("Run policyd", {"command": "lint", "paths": "a b"})
    assert (ran.status, ran.printed) == (0, "['lint', '--format', 'github', '--', 'a b']\n")

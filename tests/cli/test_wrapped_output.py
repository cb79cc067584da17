"""Long lines have hanging indents in a terminal, and are whole in a pipe."""

import json
import re
from pathlib import Path

import click
import pytest

from policyd.policy.suite.reviews import build_review
from policyd.source_excerpt import columns
from tests.cli.terminal import SCRIPT, in_terminal, run

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason=f"policyd is not installed: no {SCRIPT} (make build installs it)"
)
MESSAGE = (
    "every workload needs the label of the team that owns it, so that the people who are on call "
    "know whom to ask when it fails"
)
POLICY = f"""\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: owned}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}
  validationActions: [Deny]
  validations:
  - expression: has(object.metadata.labels) && 'example.com/team' in object.metadata.labels && true
    message: {MESSAGE}
"""
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: owned}
cases:
- name: admitted
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: web}}}
  expect: {allowed: true}
"""
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": []}}
COMMANDS = {
    "lint": ("lint", "broken.yaml"),
    "load errors": ("apply", "-p", "broken.yaml", "pod.yaml"),
    "apply": ("apply", "-p", "owned", "pod.yaml"),
    "explain": ("explain", "-p", "owned", "pod.yaml"),
    "test": ("test", "owned"),
    "replay": ("replay", "-p", "owned", "reviews.jsonl", "--against", "open.yaml"),
    "lint --rules": ("lint", "--rules"),
}  # fmt: skip
QUOTED = re.compile(r" *\| |.*'example\.com/team' in ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "owned").mkdir()
    (tmp_path / "owned/policy.yaml").write_text(POLICY)
    (tmp_path / "owned/suite.yaml").write_text(SUITE)
    (tmp_path / "pod.yaml").write_text(json.dumps(POD))
    (tmp_path / "reviews.jsonl").write_text(json.dumps(build_review(POD)))
    (tmp_path / "open.yaml").write_text(POLICY.replace("&& true", "|| true"))
    broken = POLICY.replace("metadata.labels)", "metadata.labels.)").replace("    mess", "    mes")
    (tmp_path / "broken.yaml").write_text(broken)
    return tmp_path


def in_pipe(*arguments: str, cwd: Path) -> str:
    done = run(*arguments, cwd=cwd, COLUMNS="80")
    return done.stdout + done.stderr


def lines_of(*arguments: str, cwd: Path, size: int, **more: str) -> list[str]:
    shown = in_terminal(*arguments, cwd=cwd, columns=size, **more)
    return click.unstyle(shown).replace("\r\n", "\n").split("\n")


@pytest.mark.parametrize("size", [80, 100])
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_lines_fit_the_terminal(arguments: tuple[str, ...], size: int, folder: Path) -> None:
    lines = lines_of(*arguments, cwd=folder, size=size)
    assert any(line.strip() for line in lines)
    long = [line for line in lines if columns(line) > size and not QUOTED.match(line)]
    assert long == []


# What a line of 80 columns looks like, with the one that goes on.
HANGING = {
    "load errors": r"^broken\.yaml:.*\n {4}\S",
    "lint": r"^broken\.yaml:.*\n {4}\S",
    "apply": r"^denied  Pod web   pod\.yaml:1:38  owned   metadata\.labels: every.*\n {41}\S",
    "explain": r"^ {6}message: metadata\.labels: every.*\n {10}\S",
    "test": r"^ {12}message: metadata\.labels: every.*\n {16}\S",
    "replay": r"^now denied          1  owned   CREATE Pod .*\n {31}\S",
}


@pytest.mark.parametrize("name", HANGING)
def test_a_line_goes_on_below_itself(name: str, folder: Path) -> None:
    shown = "\n".join(lines_of(*COMMANDS[name], cwd=folder, size=80))
    assert re.search(HANGING[name], shown, re.MULTILINE), shown


@pytest.mark.parametrize("name", ["apply", "explain", "test", "replay"])
def test_lines_are_whole_in_a_pipe(name: str, folder: Path) -> None:
    assert MESSAGE in in_pipe(*COMMANDS[name], cwd=folder)
    assert MESSAGE not in "\n".join(lines_of(*COMMANDS[name], cwd=folder, size=80))


@pytest.mark.parametrize("name", ["lint", "load errors", "explain"])
def test_carets_stay_below_their_source(name: str, folder: Path) -> None:
    def excerpts(lines: list[str]) -> list[str]:
        marks = [index for index, line in enumerate(lines) if re.fullmatch(r"[ |.]*\^", line)]
        return [line for index in marks for line in lines[index - 1 : index + 1]]

    narrow = lines_of(*COMMANDS[name], cwd=folder, size=80)
    piped = in_pipe(*COMMANDS[name], cwd=folder).split("\n")
    assert excerpts(narrow) == excerpts(piped)
    if name == "explain":
        assert any(line.startswith("      | has(") and len(line) > 80 for line in narrow)
    else:
        assert excerpts(narrow)


def test_columns_overrides_the_width_of_the_terminal(folder: Path) -> None:
    wide = lines_of(*COMMANDS["apply"], cwd=folder, size=80, COLUMNS="200")
    assert any(line.endswith(MESSAGE) for line in wide)

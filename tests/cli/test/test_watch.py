"""``policyd test --watch`` as a process of its own, in a pipe and in a terminal."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli.test.command import command
from policyd.cli.test.watch import concerns
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load
from tests.builders.objects import pod
from tests.builders.policies import policy, rule, suite
from tests.cli.terminal import Interactive

WAITS = "watching for changes"


def not_named(name: str, of: str = "p") -> JSONObject:
    return policy(
        of,
        matchConstraints={"resourceRules": [rule()]},
        validations=[{"expression": f"object.metadata.name != '{name}'"}],
    )


class Watching(Interactive):
    """``policyd test --watch``, in a pipe or in a terminal."""

    def __init__(self, folder: Path, *arguments: str, terminal: bool = False) -> None:
        command = ("test", str(folder), "--watch", *arguments)
        super().__init__(*command, terminal=terminal, variables={"TERM": "xterm", "NO_COLOR": ""})

    def turn(self) -> str:
        """What one run writes."""
        return self.until(WAITS)

    def interrupt(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two policies, each with its suite; the second reads a fixture."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "policy.json", not_named("x", name))
    write(tmp_path / "one" / "suite.json", suite("one", policies=["policy.json"]))
    case = {"name": "of a file", "request": {"objectFile": "pod.json"}, "expect": {"allowed": True}}
    write(tmp_path / "two" / "suite.json", suite("two", policies=["policy.json"], cases=[case]))
    write(tmp_path / "two" / "pod.json", pod())
    return tmp_path


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    made = Watching(folder)
    yield made
    made.close()


def write(file: Path, value: JSONObject) -> None:
    """As editors do: another file takes the place of the old one."""
    made = file.with_name(f".{file.name}.new")
    made.write_bytes(orjson.dumps(value))
    made.replace(file)


def test_only_what_a_change_concerns_runs_again(folder: Path, watching: Watching) -> None:
    shown = watching.turn()
    assert "one/suite.json" in shown and "two/suite.json" in shown

    write(folder / "one" / "policy.json", not_named("web", "one"))
    shown = watching.turn()
    assert f"changed: {folder}/one/policy.json" in shown
    assert "--- FAIL: one/one" in shown and "denies: Policy one" in shown
    assert "two/suite.json" not in shown

    write(folder / "two" / "pod.json", pod(name="x"))
    shown = watching.turn()
    assert "--- FAIL: two/of a file" in shown
    assert "--- FAIL: one" not in shown
    assert f"FAIL  {folder}/one/suite.json  1 of 1 case failed before" in shown

    write(folder / "one" / "policy.json", not_named("x", "one"))
    assert f"ok    {folder}/one/suite.json" in watching.turn()
    assert watching.interrupt() == 1  # two fails still


def test_what_is_broken_is_told_and_does_not_end_it(folder: Path, watching: Watching) -> None:
    watching.turn()
    file = folder / "one" / "policy.json"
    file.write_text("{kind: Policy")
    assert f"{file}:1:1: the {{ of line 1 is never closed" in watching.turn()
    write(file, policy("one", validations=[{"expression": "nowhere"}]))
    assert "undeclared reference to 'nowhere'" in watching.turn()
    write(file, not_named("x", "one"))
    shown = watching.turn()
    assert "one/suite.json" in shown and "two/suite.json" in shown  # all: nothing else is known
    assert watching.interrupt() == 0


def test_the_status_of_what_is_broken(folder: Path, watching: Watching) -> None:
    watching.turn()
    (folder / "one" / "policy.json").write_text("{kind: Policy")
    watching.turn()
    assert watching.interrupt() == 2


def test_suites_come_and_go(folder: Path, watching: Watching) -> None:
    watching.turn()
    (folder / "one" / "more").mkdir()
    case = {"name": "c", "request": {"object": pod(name="x")}, "expect": {"allowed": True}}
    new = folder / "one" / "more" / "suite.json"
    write(new, suite("more", policies=["../policy.json"], cases=[case]))
    shown = watching.turn()
    assert "--- FAIL: more/c" in shown and f"ok    {folder}" not in shown
    new.unlink()
    assert "no suite is affected by the change" in watching.turn()
    assert watching.interrupt() == 0


def test_policies_outside_of_the_paths_are_watched(folder: Path) -> None:
    made = Watching(folder / "one" / "suite.json")
    try:
        made.turn()
        write(folder / "one" / "policy.json", not_named("web", "one"))
        assert "--- FAIL: one/one" in made.turn()
        assert made.interrupt() == 1
    finally:
        made.close()


def test_in_a_terminal_the_screen_is_cleared_and_ctrl_c_ends(folder: Path) -> None:
    made = Watching(folder, "--coverage", terminal=True)
    try:
        first = made.turn()
        assert first.startswith("\x1b[2J") and "\x1b[32mok" in first
        write(folder / "one" / "policy.json", not_named("web", "one"))
        shown = made.turn()
        assert "\x1b[2J" in shown and "coverage:" in shown
        assert "two/suite.json" in shown  # coverage is of all
        made.type("\x03")
        assert made.process.wait(300) == 1
    finally:
        made.close()


def test_in_a_pipe_there_are_no_escapes(watching: Watching) -> None:
    assert "\x1b" not in watching.turn()
    assert watching.interrupt() == 0


def test_reports_are_not_watched(folder: Path) -> None:
    result = CliRunner().invoke(command, [str(folder), "--watch", "--format", "junit"])
    assert result.exit_code == 2
    assert "--format junit" in result.output


def test_through_a_link(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "one")
    (one,) = load([folder / "one"]).of_kind("PolicyTest")
    assert concerns(one, [str(folder / "link" / "policy.json")])


def test_a_suite_without_policies_of_its_own_is_about_all(tmp_path: Path) -> None:
    write(tmp_path / "suite.json", suite("s"))
    (document,) = load([tmp_path]).of_kind("PolicyTest")
    assert concerns(document, ["/anywhere/at/all.yaml"])

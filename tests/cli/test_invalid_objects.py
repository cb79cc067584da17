"""Manifests and cases with fields that their kinds do not have: warnings, which fail nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from tests.cli.mistakes import POD, POLICY, SUITE

WRONG = POD.replace("metadata: {name: web", "metadata: {label: {a: b}, name: web")
PLACE = "pod.yaml:3:12: warning: metadata.label: unknown field"
SUITE_PLACE = 's.yaml:8:63: warning: cases[0].request.object.metadata.label: unknown field "label"'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("pod.yaml").write_text(WRONG)
    Path("s.yaml").write_text(SUITE.replace("{name: web}", "{name: web, label: {a: b}}"))


def run(command: str) -> Result:
    return CliRunner().invoke(policyd, command.split())


@pytest.mark.parametrize("command", ["apply", "explain", "review"])
def test_a_manifest_is_warned_of(command: str) -> None:
    done = run(f"{command} -p policy.yaml pod.yaml")
    assert done.exit_code == 0
    assert PLACE in done.stderr
    assert "hint: did you mean labels?" in done.stderr


def test_a_manifest_that_fits_is_not() -> None:
    Path("pod.yaml").write_text(POD)
    assert run("apply -p policy.yaml pod.yaml").stderr.count("warning") == 0


def test_warnings_of_many_manifests_are_counted() -> None:
    Path("pod.yaml").write_text("---\n".join([WRONG] * 12))
    done = run("apply -p policy.yaml pod.yaml")
    assert done.stderr.count("did you mean labels?") == 10
    assert "2 more fields and values do not fit their kinds" in done.stderr


def test_test_remarks_on_cases_and_fails_none() -> None:
    done = run("test s.yaml policy.yaml")
    assert (done.exit_code, SUITE_PLACE in done.stderr) == (0, True)
    assert "hint: did you mean labels?" in done.stderr


def test_a_comment_disables_the_remark() -> None:
    text = Path("s.yaml").read_text()
    Path("s.yaml").write_text(f"# policyd-lint: disable=invalid-object on purpose\n{text}")
    assert "label" not in run("test s.yaml policy.yaml").stderr

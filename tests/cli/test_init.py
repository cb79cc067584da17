"""``policyd init``: what it writes loads without advice, and its suite passes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(policyd, list(arguments))
    return result.exit_code, result.output + (str(result.exception or ""))


@pytest.mark.parametrize("form", ["validation", "mutation"])
def test_what_it_writes_is_right_and_passes(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "my-first-policy"
    code, output = run("init", str(folder), "--form", form)
    assert code == 0
    assert f"wrote {folder / 'policy.yaml'}" in output
    assert "name: my-first-policy" in (folder / "policy.yaml").read_text()
    code, output = run("test", str(folder))
    assert (code, output.startswith("ok")) == (0, True), output
    code, output = run("lint", str(folder))
    assert (code, output.splitlines()[-1]) == (0, "2 documents: 0 errors, 0 advice")


def test_without_a_directory_it_is_below_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init")[0] == 0
    assert (tmp_path / "policies/require-team-label/suite.yaml").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    (folder / "suite.yaml").write_text("mine")
    code, output = run("init", str(folder))
    assert code != 0 and "suite.yaml already exists\n  hint: name another directory" in output
    assert (folder / "suite.yaml").read_text() == "mine"
    assert not (folder / "policy.yaml").exists()


def test_a_name_that_no_policy_can_have_is_refused(tmp_path: Path) -> None:
    code, output = run("init", str(tmp_path / "My Policy"))
    assert code == 2 and "'My Policy' is not a valid policy name" in output
    assert not (tmp_path / "My Policy").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, output = run("init", str(tmp_path / "file" / "policy"))
    assert code != 0 and "Not a directory" in output

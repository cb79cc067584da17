"""``policyd init``: what it writes loads without advice, and its suite passes."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd.cli import policyd
from tests.builders.commands import NAMES


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
    assert run("test")[0] == run("lint", "--strict", "--fail-on", "advice")[0] == 0


PROJECTS = {
    "the default": ((), "policies"),
    "the directory above": (("a/b/no-token",), "a/b"),
    "a policy of its own": (("no-token",), "no-token"),
    "the working directory": ((".",), "."),
    "a name that YAML would take apart": (("a: b, [c]/no-token",), "a: b, [c]"),
}


@pytest.mark.parametrize(("words", "policies"), PROJECTS.values(), ids=PROJECTS)
def test_the_project_file_names_the_policies(
    words: tuple[str, ...], policies: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "project").mkdir()
    monkeypatch.chdir(here)
    assert "wrote policyd.yaml" in run("init", *words)[1]
    assert f'policies: ["{policies}"]' in (here / "policyd.yaml").read_text()
    assert run("test")[0] == 0


def test_every_command_accepts_the_project_file_and_the_options_that_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init")[0] == 0
    file = Path("policyd.yaml")
    shown = re.sub(r"^#(?=\w|  )", "", file.read_text(), flags=re.MULTILINE)
    assert {"policies", "kubernetesVersion", "lint", "test", "apply"} == set(yaml.safe_load(shown))
    for text in (file.read_text(), shown):
        file.write_text(text)
        for name in NAMES:
            code, output = run(*name.split(), "--help")
            assert (code, output.startswith("Usage")) == (0, True), output


OUTSIDE = {
    "a project file here": ("policyd.yaml", "policies/mine"),
    "a project file above": ("../policyd.yaml", "policies/mine"),
    "a policy elsewhere": ("", "../elsewhere"),
}


@pytest.mark.parametrize(("existing", "directory"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_project_has_one_file_and_its_own_policies(
    existing: str, directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here := tmp_path / "project").mkdir()
    monkeypatch.chdir(here)
    if existing:
        Path(existing).write_text("lint: {strict: true}\n")
    code, output = run("init", directory)
    assert (code, "wrote policyd.yaml" in output) == (0, False), output
    if existing:
        assert Path(existing).read_text() == "lint: {strict: true}\n"
    else:
        assert not Path("policyd.yaml").exists()


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

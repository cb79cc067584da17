"""What stands in the way of a release, and the tag of one."""

import subprocess
from pathlib import Path

import pytest

from policyd import __version__
from tools.release import tagging


@pytest.fixture(name="repository")
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean tree whose changelog and chart have the version of this one."""
    (tmp_path / "CHANGELOG.md").write_text(
        f"## {__version__} - 2027-01-31\n\n### Added\n\n- A thing.\n"
    )
    chart = tmp_path / "deploy/chart/Chart.yaml"
    chart.parent.mkdir(parents=True)
    chart.write_text(f"version: {__version__}\nappVersion: {__version__}\n")
    monkeypatch.setattr(tagging, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "somebody")
    git(tmp_path, "config", "user.email", "somebody@example.com")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A change")


def refused(version: str) -> list[str]:
    """What is in the way of a version."""
    with pytest.raises(SystemExit) as problem:
        tagging.check(version)
    return str(problem.value).splitlines()


def test_a_release_is_tagged_with_its_changes(repository: Path) -> None:
    tagging.tag(tagging.check(__version__))
    shown = git(repository, "for-each-ref", "--format=%(objecttype) %(contents)", "refs/tags")
    assert shown.strip() == f"tag policyd {__version__}\n\n### Added\n\n- A thing."


def test_everything_that_is_in_the_way_is_reported_at_once(repository: Path) -> None:
    (repository / "CHANGELOG.md").write_text("## Unreleased\n")
    (repository / "new").touch()
    git(repository, "tag", "v9.9.9")
    assert refused("9.9.9") == [
        "9.9.9 cannot be released:",
        f"policyd/__init__.py has __version__ = '{__version__}': set it to '9.9.9', or give VERSION={__version__}",
        f"deploy/chart/Chart.yaml has version {__version__}: set version and appVersion to 9.9.9",
        "the tree is not clean: commit or remove M CHANGELOG.md, ?? new",
        "the tag v9.9.9 exists: git tag -d v9.9.9, if it is not published",
        "CHANGELOG.md has no section 9.9.9: rename the section Unreleased, for example to "
        "'## 9.9.9 - 2027-01-31'",
    ]


def test_of_many_changed_files_a_few_are_named(repository: Path) -> None:
    for name in "abcdef":
        (repository / name).touch()
    assert refused(__version__) == [
        f"{__version__} cannot be released:",
        "the tree is not clean: commit or remove ?? a, ?? b, ?? c and 3 more",
    ]


@pytest.mark.parametrize("field", ["version", "appVersion"])
def test_a_chart_of_another_version(repository: Path, field: str) -> None:
    chart = repository / "deploy/chart/Chart.yaml"
    chart.write_text(chart.read_text().replace(f"{field}: {__version__}", f"{field}: 0.0.9", 1))
    commit(repository)
    assert refused(__version__)[1:] == [
        f"deploy/chart/Chart.yaml has {field} 0.0.9: set version and appVersion to {__version__}"
    ]


def test_somebody_has_to_be_named_as_the_tagger(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "config", "user.email", "")
    git(repository, "config", "user.useConfigOnly", "true")
    git(repository, "config", "--unset", "user.email")
    for name in ("GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    assert refused(__version__)[1:] == [
        "git does not know who tags: git config user.name NAME, git config user.email ADDRESS"
    ]


def test_another_commit_than_the_one_that_was_built_is_not_tagged(repository: Path) -> None:
    release = tagging.check(__version__)
    (repository / "new").touch()
    commit(repository)
    with pytest.raises(
        SystemExit, match="the commit changed while it was built: repeat the command"
    ):
        tagging.tag(release)
    assert git(repository, "tag") == ""

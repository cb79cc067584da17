"""Notes and hashes of a release, and what stands in the way of one."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from policyd import __version__
from tools.release import notes, tagging

CHANGELOG = """\
# Changelog

## Unreleased

## 1.2.0 - 2027-01-31

### Added

- A thing.

## [1.1.0]

- Another.

## 1.0.0
"""


@pytest.mark.parametrize(
    ("version", "want"),
    [
        ("1.2.0", "### Added\n\n- A thing."),
        ("1.1.0", "- Another."),
        ("1.0.0", "CHANGELOG.md: the section 1.0.0 is empty"),
        ("1.1", "CHANGELOG.md has no section 1.1: "),
        ("1.2x0", "CHANGELOG.md has no section 1.2x0: "),
    ],
)
def test_the_section_of_a_version(version: str, want: str) -> None:
    try:
        found = notes.section(CHANGELOG, version)
    except SystemExit as problem:
        found = str(problem)[: len(want)]
    assert found == want


def test_notes_list_files_with_sizes_and_hashes(tmp_path: Path) -> None:
    for name, size in (("b.whl", 2_500_000), ("a.tar.gz", 10_000)):
        (tmp_path / name).write_bytes(b"x" * size)
    files = list(tmp_path.iterdir())
    text = notes.text("1.2.0", "- A thing.", files, ["Zig 1", "cpython 3.12.1"])
    small, large = (hashlib.sha256(b"x" * size).hexdigest() for size in (10_000, 2_500_000))
    assert text == (
        "# policyd 1.2.0\n\n- A thing.\n\n## Files\n\n| file | size | sha256 |\n|---|---|---|\n"
        f"| a.tar.gz | 0.01 MB | `{small}` |\n| b.whl | 2.50 MB | `{large}` |\n\n"
        "Built with Zig 1, cpython 3.12.1.\n"
    )
    (tmp_path / "SHA256SUMS").write_text(notes.sums(files))
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 0


@pytest.fixture(name="repository")
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean tree whose changelog has the version of this one."""
    (tmp_path / "CHANGELOG.md").write_text(
        f"## {__version__} - 2027-01-31\n\n### Added\n\n- A thing.\n"
    )
    monkeypatch.setattr(tagging, "ROOT", tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "somebody@example.com")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_release_is_tagged_with_its_changes(repository: Path) -> None:
    tagging.tag(__version__, tagging.check(__version__))
    shown = git(repository, "for-each-ref", "--format=%(objecttype) %(contents)", "refs/tags")
    assert shown.strip() == f"tag policyd {__version__}\n\n### Added\n\n- A thing."


def test_everything_that_is_in_the_way_is_reported_at_once(repository: Path) -> None:
    (repository / "CHANGELOG.md").write_text("## Unreleased\n")
    git(repository, "tag", "v9.9.9")
    with pytest.raises(SystemExit) as problem:
        tagging.check("9.9.9")
    assert str(problem.value).splitlines() == [
        "9.9.9 cannot be released:",
        f"policyd/__init__.py has __version__ = '{__version__}'",
        "the tree is not clean: 1 files, M CHANGELOG.md",
        "the tag v9.9.9 exists: git tag -d v9.9.9, if it is not published",
        "CHANGELOG.md has no section 9.9.9: rename the section Unreleased, for example to "
        "'## 9.9.9 - 2027-01-31'",
    ]

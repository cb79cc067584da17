"""Notes and hashes of a release."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from tools.release import notes

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

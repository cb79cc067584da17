"""Commits that change policyd/ say why; subjects are short."""

import subprocess
from pathlib import Path

import pytest

from tools.check_commits import problems


def committed(root: Path, file: str, message: str) -> None:
    """A repository with one commit that writes a file."""
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text("x", encoding="utf-8")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    subprocess.run(["git", *author, "commit", "-q", "-m", message], cwd=root, check=True)


@pytest.mark.parametrize(
    ("file", "message", "want"),
    [
        ("policyd/a.py", "Do it\n\nBecause it was needed.", []),
        ("policyd/a.py", "Do it", ["'Do it' changes policyd/ and has no body: say why"]),
        ("docs/a.md", "Say it", []),
        ("docs/a.md", "x" * 72, ["the subject has 72 characters: write fewer than 72"]),
    ],
)
def test_what_is_missing_is_found(tmp_path: Path, file: str, message: str, want: list[str]) -> None:
    committed(tmp_path, file, message)
    assert [each.partition(": ")[2] for each in problems(tmp_path)] == want


def test_no_history_has_no_problems(tmp_path: Path) -> None:
    assert list(problems(tmp_path)) == []

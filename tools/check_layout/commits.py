"""Contract: the length of commit subjects, for the commits after a fixed one."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.check_layout.table import PLACE, Table


class GitError(Exception):
    """git failed; the message is its output."""


def unchecked(root: Path) -> str:
    """Why the commit subjects cannot be checked; empty if they can."""
    if not (root / ".git").exists():
        return f"{root} is not a git checkout"
    if shutil.which("git") is None:
        return "git is not installed"
    return ""


def problems(table: Table, root: Path) -> Iterator[str]:
    """One message for each long subject; in a shallow clone without the fixed commit, all subjects
    count.
    """
    if unchecked(root):
        return
    base = table.commits_after
    span = f"{base}..HEAD" if has(root, base) else "HEAD"
    for line in git(root, "log", "--format=%h %s", span).splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) >= table.subject_length:
            yield (
                f"commit {commit}: the subject has {len(subject)} characters; expected fewer than"
                f" {table.subject_length} ({PLACE}): {subject!r}; move the rest to the body"
            )


def has(root: Path, commit: str) -> bool:
    return not run(root, "cat-file", "-e", f"{commit}^{{commit}}").returncode


def git(root: Path, *arguments: str) -> str:
    """The output of git; raises GitError if it fails."""
    done = run(root, *arguments)
    if done.returncode:
        raise GitError(f"git {' '.join(arguments)} in {root}: {done.stderr.strip()}")
    return done.stdout


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git once. The checkout may belong to another user, as in continuous integration."""
    command = ["git", "-C", str(root), "-c", f"safe.directory={root}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)

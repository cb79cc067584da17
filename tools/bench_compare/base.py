"""The other tree: a commit, unpacked and built in a folder of its own. Measures nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "bench-compare"
_BUILT = ".built"


class NoBase(Exception):
    """Why there is no commit to compare with."""


def last_tag() -> str:
    """Return the last tag before this commit. Raises NoBase."""
    done = _git("describe", "--tags", "--abbrev=0", "HEAD^")
    if done.returncode:
        raise NoBase("there is no tag before this commit")
    return done.stdout.strip()


def commit_of(name: str) -> str:
    """Return the commit of a tag, branch or hash. Raises NoBase."""
    done = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if done.returncode:
        raise NoBase(f"there is no commit {name!r} in this repository")
    return done.stdout.strip()


def built(commit: str) -> Path:
    """Return the folder of a commit, built; those of other commits are removed. What was built
    before is used again. Raises NoBase with the end of the log if it cannot be built.
    """
    folder = FOLDER / commit
    if (folder / _BUILT).exists():
        return folder
    shutil.rmtree(FOLDER, ignore_errors=True)
    folder.mkdir(parents=True)
    # An archive rather than a worktree: Git knows nothing of it, so that nothing has to be removed.
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    log = folder / "build.log"
    with log.open("wb") as stream:
        done = subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace", f"-j{os.cpu_count()}"],
            cwd=folder,
            stdout=stream,
            stderr=stream,
            check=False,
        )
    if done.returncode:
        raise NoBase(f"{commit[:12]} cannot be built: {log.read_text()[-1000:]}")
    (folder / _BUILT).touch()
    return folder


def _git(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

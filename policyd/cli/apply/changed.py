"""``policyd apply --changed``: the files that differ from a commit, by git. Reads no manifest."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from policyd.errors import ConfigError

_SECONDS = 60.0  # for each command of git


def changed_files(ref: str, paths: Sequence[Path]) -> frozenset[str]:
    """Return the real paths of the files in the working tree that differ from a commit, and of
    untracked ones, except ignored ones. Raises ConfigError if git cannot say so of all ``paths``.
    """
    top = os.fsdecode(_git("rev-parse", "--show-toplevel").removesuffix(b"\n"))
    for path in paths:
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top)):
            raise ConfigError(f"--changed: {path} is outside of the working tree {top}")
    commit = _commit(ref)
    # The user's setting would print names relative to the working directory.
    compare = ("-c", "diff.relative=false", "diff", "--name-only", "-z", "--diff-filter=d", commit)
    untracked = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/")
    names = [*_git(*compare).split(b"\0"), *_git(*untracked).split(b"\0")]
    return frozenset(os.path.realpath(Path(top, os.fsdecode(name))) for name in names if name)


def _commit(ref: str) -> str:
    """Return the hash of a commit, which git cannot take for a path or an option."""
    if not ref.startswith("-"):
        with suppress(ConfigError):
            return _git("rev-parse", "--verify", ref + "^{commit}").decode().strip()
    hint = "fetch it, such as by git fetch origin; in CI clone with the history (fetch-depth: 0)"
    hint = f"--changed HEAD {ref}" if Path(ref).exists() else hint
    raise ConfigError(f"--changed {ref}: no such commit\n  hint: {hint}")


def _git(*arguments: str) -> bytes:
    """Run git in the working directory and return what it prints."""
    git = shutil.which("git")
    if git is None:
        raise ConfigError("--changed needs git, which is not installed")
    command = [git, "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"--changed: cannot run git: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise ConfigError(f"--changed: {said or f'git ended with status {done.returncode}'}")
    return done.stdout

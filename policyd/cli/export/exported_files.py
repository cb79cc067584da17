"""Write exported policies to a directory: a file for each policy. Leaves files of others alone."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from policyd.errors import ConfigError, file_errors
from policyd.export.static import DIRECTORIES
from policyd.regular_files import replace_file

HEAD = "# Written by policyd export: change the policy and run it again.\n"
_SUFFIX = ".yaml"
_MODE = 0o644


def write(directory: Path, texts: Mapping[Path, str], left: frozenset[str]) -> list[Path]:
    """Write files, by their paths in the directory; remove, and return, files of former exports.

    ``left``: the names of policies that are not exported this time, whose files stay. Raises
    ConfigError if a file of somebody else is in the way; then nothing has changed.
    """
    with file_errors(directory):
        there = [file for path in texts if os.path.lexists(file := directory / path)]
        foreign = [file for file in there if not _is_ours(file)]
        if foreign:
            listed = "\n".join(f"{each} was not written by policyd export" for each in foreign)
            raise ConfigError(f"{listed}\n  hint: move it, or choose another directory")
        stale = [each for each in _written_before(directory) if each.stem not in left]
        for path, text in texts.items():
            _replace(directory / path, f"{HEAD}{text}".encode())
        removed = [each for each in stale if each.relative_to(directory) not in texts]
        for each in removed:
            each.unlink()
    return removed


def require_outside(directory: Path, sources: Sequence[Path]) -> None:
    """Raise ConfigError for a directory from which the next run would load its own output."""
    for each in sources:
        if each.is_dir() and directory.resolve().is_relative_to(each.resolve()):
            raise ConfigError(
                f"{directory} is in {each}, whose policies are exported: the next run would load "
                "what this one writes\n  hint: choose another directory"
            )


def path_of(policy: str, directory: str = "") -> Path:
    """Return the path of a policy's file; ``directory``: the directory of an admission plugin, if
    any.
    """
    return Path(directory) / f"{policy}{_SUFFIX}"


def _written_before(directory: Path) -> Iterator[Path]:
    """Yield the files of former exports, also of those with other options."""
    for inner in ("", *DIRECTORIES.values()):
        if (directory / inner).is_dir():
            for each in sorted((directory / inner).iterdir()):
                if each.suffix == _SUFFIX and _is_ours(each):
                    yield each


def _is_ours(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(HEAD)) == HEAD.encode()


def _replace(file: Path, content: bytes) -> None:
    if file.is_file() and file.read_bytes() == content:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, content, mode=_MODE)

"""Which files are sources, and their bytes. Knows nothing of what is in them."""

import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from policyd.errors import Problem

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 64 * 1024 * 1024  # of one file, unpacked: sources are at most a few MiB


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read: the name as shown to people, its real path, and its bytes.

    ``root`` is the real path of the folder that was given, or that has the file that was given.
    """

    name: str
    real: str
    data: bytes
    root: str = ""


def read(paths: Iterable[str | Path]) -> tuple[list[SourceFile], list[Problem]]:
    """The sources below ``paths`` (files, directories, ``-`` for standard input), each once."""
    found: list[SourceFile] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for path in paths:
        root = os.path.realpath(path if Path(path).is_dir() else Path(path).parent)
        for name in _expand(path, problems):
            real = name if name == "-" else str(Path(name).resolve())
            if real in seen:
                continue
            seen.add(real)
            try:
                found.append(SourceFile(name, real, read_bytes(name), root))
            except (OSError, EOFError, zlib.error, ValueError) as error:
                problems.append(_unreadable(name, error))
    return found, problems


def read_bytes(name: str | Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in ``.gz``; raises OSError, ValueError."""
    if str(name) == "-":
        return sys.stdin.buffer.read()
    path = Path(name)
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            data = file.read(MAX_BYTES + 1)
    else:
        with path.open("rb") as plain:
            data = plain.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
    return data


def is_source(name: str) -> bool:
    """Whether a file found in a directory is read: YAML or JSON, packed or not, not hidden."""
    return not name.startswith(".") and name.removesuffix(".gz").endswith(SUFFIXES)


def _expand(path: str | Path, problems: list[Problem]) -> Iterator[str]:
    if str(path) == "-":
        yield "-"
    elif Path(path).is_dir():
        yield from _walk(str(path), set(), problems)
    elif Path(path).exists():
        yield str(path)
    else:
        message = "no such file or directory"
        if Path(path).is_symlink():
            message = "a symbolic link to nothing"
        problems.append(Problem(message, file=str(path), rule="unreadable"))


def _walk(directory: str, above: set[str], problems: list[Problem]) -> Iterator[str]:
    """Visible files below a directory by name, following links (a mounted ConfigMap's files are
    links into ``..data``), but no link to a directory that holds it."""
    real = os.path.realpath(directory)
    if real in above:
        return
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        problems.append(_unreadable(directory, error))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _walk(entry.path, above | {real}, problems)
        elif is_source(entry.name):
            yield entry.path


def _unreadable(name: str, error: Exception) -> Problem:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem(f"cannot be read: {reason}", file=name, rule="unreadable")

"""Find source files and read their bytes. Does not parse them."""

import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from policyd.errors import Problem
from policyd.policy.source.tree import WalkFault, shown, walk
from policyd.regular_files import open_regular

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 64 * 1024 * 1024  # of one file, decompressed; real sources have a few MiB


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read: its display name, real path and bytes.

    ``root`` is the real path of the given folder, or of the folder of the given file.
    """

    name: str
    real: str
    data: bytes
    root: str = ""


def read(
    paths: Iterable[str | Path],
    *,
    pipes: bool = True,
    excluded: Callable[[str], bool] = lambda name: False,
) -> tuple[list[SourceFile], list[Problem]]:
    """Read the sources below ``paths`` (files, directories, ``-`` for standard input), each once.

    ``pipes``: a path may be a pipe, such as ``<(command)`` in a shell; a server never reads one.
    ``excluded``: whether to leave out the file of this name.
    """
    found: list[SourceFile] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for path in paths:
        root = os.path.realpath(path if Path(path).is_dir() else Path(path).parent)
        for name in _expand(path, problems):
            real = name if name == "-" else os.path.realpath(name)
            if real in seen or excluded(name):
                continue
            seen.add(real)
            given = pipes and name == str(path)
            try:
                data = read_bytes(name, pipes=given)
                found.append(SourceFile(shown(name), real, data, root))
            except (OSError, EOFError, zlib.error, ValueError) as error:
                problems.append(_unreadable(name, error))
    return found, problems


def read_bytes(name: str | Path, *, pipes: bool = False) -> bytes:
    """Read a file, decompressed if its name ends in ``.gz``; raises OSError, ValueError."""
    if str(name) == "-":
        return sys.stdin.buffer.read()
    with open_regular(name, pipes=pipes) as file:
        if str(name).endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                data = unpacked.read(MAX_BYTES + 1)
        else:
            data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
    return data


def is_source(name: str) -> bool:
    """Whether to read a file of a directory: YAML or JSON, maybe compressed, not hidden."""
    return not name.startswith(".") and name.removesuffix(".gz").endswith(SUFFIXES)


def _expand(path: str | Path, problems: list[Problem]) -> Iterator[str]:
    if str(path) == "-":
        yield "-"
        return
    tree = walk(str(path))
    problems += [_problem(fault) for fault in tree.faults]
    if tree.folders:
        yield from (file for file in tree.files if is_source(file.rpartition("/")[2]))
    else:
        yield from tree.files


def _problem(fault: WalkFault) -> Problem:
    return Problem(fault.reason, file=shown(fault.path), rule="unreadable")


def _unreadable(name: str, error: Exception) -> Problem:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem(f"cannot be read: {reason}", file=shown(name), rule="unreadable")

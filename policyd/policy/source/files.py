"""Find source files and read their bytes. Does not parse them."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

from policyd.errors import Problem
from policyd.policy.source.background_pace import full_speed
from policyd.policy.source.budget import bytes_text
from policyd.policy.source.tree import instead_of, shown, walk
from policyd.regular_files import open_regular

SUFFIXES = (".yaml", ".yml", ".json")
_PACKED = ".gz"
# Bytes, decompressed, of one file; real sources have a few MiB. A server reads no more in one set.
MAX_BYTES = 64 * 2**20
# Bytes of a file of a ConfigMap, decompressed, and of all files of one: a ConfigMap has at most
# 1 MiB, and policies shrink to a tenth.
MAX_PACKED_BYTES = 16 * 2**20
# Bytes that are decompressed between two looks at the clock.
_PIECE = 2**18


class FileTooLarge(ValueError):
    """A file has more bytes than may be read of it."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read: its display name, real path and bytes.

    ``root`` is the real path of the given directory, or of the directory of the given file.
    ``beside`` are the bytes of all files of its directory by name, if that directory is not on a
    disk. ``confined`` is the namespace of a team: the file may hold PolicyExceptions, for that
    namespace only.
    """

    name: str
    real: str
    data: bytes
    root: str = ""
    beside: Mapping[str, bytes] | None = field(default=None, repr=False, compare=False)
    confined: str = ""


@dataclass(frozen=True)
class Bundle:
    """Source files that were read already and change together, such as the files of one ConfigMap.

    ``name`` is unique among the bundles of a server (``configmap/NAME``); ``version`` is the
    resourceVersion of the object that it was read from, ``created`` its creationTimestamp.
    ``names`` are the names of all its files, also of files that cannot be read or hold no
    documents.
    """

    name: str
    files: tuple[SourceFile, ...]
    problems: tuple[Problem, ...] = ()
    version: str = ""
    names: frozenset[str] = frozenset()
    created: str = ""

    @property
    def size(self) -> int:
        """Return the bytes of all its files."""
        return sum(len(each.data) for each in self.files)

    @cached_property
    def digest(self) -> bytes:
        """Return a hash of everything that is loaded from it."""
        whole = sha256()
        for each in self.files:
            name = f"{each.confined}\0{each.name}" if each.confined else each.name
            for part in (name.encode("utf-8", "surrogatepass"), each.data):
                whole.update(len(part).to_bytes(8, "big"))
                whole.update(part)
        for problem in self.problems:
            whole.update(str(problem).encode("utf-8", "surrogatepass"))
        return whole.digest()


class BundleState(NamedTuple):
    """One bundle as people see it: ``version`` is in use, ``held`` a later one that is not; each is
    empty if there is none. ``confined`` is the namespace of a team's exceptions.
    """

    name: str
    version: str
    held: str
    files: int
    confined: str = ""


def read(
    paths: Iterable[str | Path],
    *,
    pipes: bool = True,
    excluded: Callable[[str], bool] = lambda name: False,
    most: int = sys.maxsize,
    breathe: Callable[[], None] = full_speed,
) -> tuple[list[SourceFile], list[Problem]]:
    """Read the sources below ``paths`` (files, directories, ``-`` for standard input), each once.

    ``pipes``: a path may be a pipe, such as ``<(command)`` in a shell; a server never reads one.
    ``excluded``: whether to leave out the file of this name. ``most``: bytes of all files; those
    beyond it are problems. ``breathe`` is called between small pieces of work.
    """
    found: list[SourceFile] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    left = most
    for path in paths:
        root = os.path.realpath(path if Path(path).is_dir() else Path(path).parent)
        for name in _expand(path, problems):
            real = name if name == "-" else os.path.realpath(name)
            if real in seen or excluded(name):
                continue
            seen.add(real)
            given = pipes and name == str(path)
            try:
                data = read_bytes(name, pipes=given, most=min(left, MAX_BYTES), breathe=breathe)
                left -= len(data)
                found.append(SourceFile(shown(name), real, data, root))
            except FileTooLarge as error:
                together = ValueError(f"all files together are larger than {bytes_text(most)}")
                problems.append(unreadable(name, together if left < MAX_BYTES else error))
            except (OSError, EOFError, zlib.error, ValueError) as error:
                problems.append(unreadable(name, error))
    return found, problems


def read_bytes(
    name: str | Path,
    *,
    pipes: bool = False,
    most: int = MAX_BYTES,
    breathe: Callable[[], None] = full_speed,
) -> bytes:
    """Read a file, decompressed if its name ends in ``.gz``; raises OSError, EOFError, zlib.error,
    and ValueError for more than ``most`` bytes.
    """
    if str(name) == "-":
        return _unpacked("-", sys.stdin.buffer, most, breathe)
    with open_regular(name, pipes=pipes) as file:
        return _unpacked(str(name), file, most, breathe)


def unpacked(
    name: str,
    data: bytes,
    most: int = MAX_PACKED_BYTES,
    breathe: Callable[[], None] = full_speed,
) -> bytes:
    """Return the bytes of a file that were read as they are, decompressed if its name ends in
    ``.gz``; raises as ``read_bytes`` does.
    """
    return _unpacked(name, io.BytesIO(data), most, breathe)


def _unpacked(name: str, file: BinaryIO, most: int, breathe: Callable[[], None]) -> bytes:
    """Return the rest of a file, of which no more than ``most`` bytes and a piece are read."""
    pieces: list[bytes] = []
    size = 0
    with gzip.GzipFile(fileobj=file) if is_packed(name) else nullcontext(file) as plain:
        while piece := plain.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise FileTooLarge(f"larger than {bytes_text(most)}")
            breathe()
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


# Names: upper case counts as lower case, so that a policy in A.YAML is not left out without a word.


def is_source(name: str) -> bool:
    """Whether to read a file of a directory: YAML or JSON, maybe compressed, not hidden."""
    return not name.startswith(".") and without_packing(name).lower().endswith(SUFFIXES)


def is_capture(name: str) -> bool:
    """Whether a file of a directory has recorded reviews: ``.jsonl``, maybe compressed."""
    return ".jsonl" in name.lower()


def is_json(name: str) -> bool:
    """Whether a source has JSON."""
    return without_packing(name).lower().endswith(".json")


def is_packed(name: str) -> bool:
    """Whether a file is compressed."""
    return name.lower().endswith(_PACKED)


def without_packing(name: str) -> str:
    """Return the name of the file that is compressed: ``a.yaml`` for ``a.yaml.gz``."""
    return name[: -len(_PACKED)] if is_packed(name) else name


def captures_in(directory: Path) -> list[Path]:
    """Return the files with recorded reviews below a directory."""
    return sorted(each for each in directory.rglob("*") if is_capture(each.name) and each.is_file())


def _expand(path: str | Path, problems: list[Problem]) -> Iterator[str]:
    if str(path) == "-":
        yield "-"
        return
    tree = walk(str(path))
    for fault in tree.faults:
        hint = "" if os.path.lexists(fault.path) else instead_of(fault.path)
        problems.append(Problem(fault.reason, file=shown(fault.path), hint=hint, rule="unreadable"))
    if tree.directories:
        yield from (file for file in tree.files if is_source(file.rpartition("/")[2]))
    else:
        yield from tree.files


def unreadable(name: str, error: Exception) -> Problem:
    """Return the problem of a file that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    hint = ""
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        hint = f"compress it with gzip, or rename it to {without_packing(shown(name))}"
    return Problem(f"cannot be read: {reason}", file=shown(name), hint=hint, rule="unreadable")

"""Reads regular files without ever blocking on a pipe or terminal, and replaces them in one step.

Opening a FIFO waits for a writer, and opening a device may have side effects. So the file type is
checked before opening, and again on the open descriptor in case the file was replaced.
"""

import os
import stat
from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a directory",
}


class NotRegular(OSError):
    """The path is not a regular file; the message says what it is."""


def open_regular(path: str | Path, *, pipes: bool = False) -> BinaryIO:
    """Open a file for reading; raises OSError. With ``pipes`` also accept a pipe, such as
    ``<(command)`` in a shell, and wait for its content.
    """
    allowed = (stat.S_IFREG, stat.S_IFIFO) if pipes else (stat.S_IFREG,)
    _check(Path(path).stat(), path, allowed)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY
    descriptor = os.open(path, flags if pipes else flags | os.O_NONBLOCK)
    file = os.fdopen(descriptor, "rb")
    with ExitStack() as closing:
        closing.callback(file.close)
        _check(os.fstat(descriptor), path, allowed)
        closing.pop_all()
    return file


def read_regular(path: str | Path, most: int) -> bytes:
    """The content of a file; raises OSError, and ValueError for more than ``most`` bytes."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"larger than {most >> 10} KiB")
    return data


def _check(status: os.stat_result, path: str | Path, allowed: tuple[int, ...]) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind not in allowed:
        found = _KINDS.get(kind, "an unknown kind of file")
        raise NotRegular(0, f"expected a regular file, got {found}", str(path))


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace a file, or create it; raises OSError.

    After a crash, with a full disk, or for other processes the file has the former or the complete
    new content.
    """
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            new.write(content)
            new.flush()
            os.fchmod(new.fileno(), mode)
            os.fsync(new.fileno())
            Path(new.name).replace(path)
        except OSError:
            Path(new.name).unlink(missing_ok=True)
            raise

"""Check that the files of a suite are in its directory or in the source directory of policies that
contains it, and read the files of a directory that is not on a disk.

The author of a suite may lack access to files that policyd can read, such as its TLS key.
"""

import errno
import os
import posixpath
from pathlib import Path

from policyd.policy.source.files import unpacked
from policyd.policy.source.loaded_documents import Document


class Outside(ValueError):
    """A file that the suite must not name; the message shows none of its content."""


def inside(suite: Document, name: str) -> Path:
    """Return the real path of a file that a suite names.

    Links are followed (a ConfigMap's files are links into ``..data``), but not out of the
    directories. A suite of a directory that is not on a disk may name files of that directory only.
    """
    directory = Path(suite.file).parent
    if suite.beside is not None:
        key = posixpath.normpath(name)
        if key.startswith(("/", "..")):
            raise Outside(f"{name}: outside of {directory}, whose files a suite in it may name")
        return directory / key
    try:
        real = Path(os.path.realpath(directory / name))
    except ValueError:  # a NUL, or half of a surrogate pair
        raise Outside(f"{name!r}: not a path") from None
    roots = {os.path.realpath(directory), suite.root or os.path.realpath(directory)}
    if not any(real.is_relative_to(root) for root in roots):
        raise Outside(f"{name}: outside the directory of the policies")
    return real


def is_beside(suite: Document, name: str) -> bool:
    """Whether a suite of a directory not on a disk names a file of that directory, or ``.``."""
    key = posixpath.normpath(name)
    return key == "." or key in (suite.beside or {})


def read_beside(suite: Document, name: str) -> bytes:
    """Return the content of a file in the directory of a suite, which is not on a disk; raises
    OSError, EOFError, zlib.error and ValueError.
    """
    key = inside(suite, name).name
    if suite.beside is None or not is_beside(suite, name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return unpacked(key, suite.beside[key])

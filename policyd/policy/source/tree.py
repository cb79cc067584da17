"""List the files at and below a path: the walk follows links, visits each directory once and ends.

Opens no file. A directory that cannot be listed is returned as a fault, never raised: watches rely
on this.
"""

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from policyd.bounded_text import few
from policyd.near_names import nearest

# Names below one source. A link to / would otherwise be walked for minutes, every few seconds.
MAX_NAMES = 100_000
_MOST = 5  # names that a hint lists
_WILDCARDS = frozenset("*?[")

_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WalkFault:
    """A path of the tree that cannot be read."""

    path: str
    reason: str


@dataclass(slots=True)
class Walked:
    """The result of a walk: files and directories by name, each directory once."""

    files: list[str] = field(default_factory=list)
    directories: list[tuple[str, _Identity]] = field(default_factory=list)
    faults: list[WalkFault] = field(default_factory=list)


def walk(path: str) -> Walked:
    """Return the visible files below a directory, or the file itself. Names that start with a dot
    are skipped: a mounted ConfigMap's files are links into ``..data``, found by their own names.
    """
    tree = Walked()
    seen: set[_Identity] = set()
    names = 0
    pending: list[tuple[str, bool]] = [(path, True)]
    while pending:
        name, is_directory = pending.pop()
        if not is_directory:
            tree.files.append(name)
            continue
        entries = _entries(name, seen, tree)
        names += len(entries)
        if names > MAX_NAMES:
            tree.faults.append(
                WalkFault(path, f"contains more than {MAX_NAMES} files and directories")
            )
            break
        pending += reversed(entries)
    return tree


def _entries(directory: str, seen: set[_Identity], tree: Walked) -> list[tuple[str, bool]]:
    """Return the sorted entries of a directory, and whether they are directories; none if it was
    listed before, via any link.
    """
    try:
        status = os.stat(directory)  # noqa: PTH116 - thousands of names, every few seconds
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            return []
        with os.scandir(directory) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except NotADirectoryError:
        return [(directory, False)]
    except OSError as error:
        tree.faults.append(WalkFault(directory, _reason(directory, error)))
        return []
    except ValueError:  # a NUL, which a suite's path may hold and no file's name can
        tree.faults.append(WalkFault(directory, "no such file or directory"))
        return []
    seen.add(identity)
    tree.directories.append((directory, identity))
    found: list[tuple[str, bool]] = []
    for entry in entries:
        if entry.name.startswith("."):
            continue
        try:
            found.append((entry.path, entry.is_dir()))
        except OSError as error:
            tree.faults.append(WalkFault(entry.path, _reason(entry.path, error)))
    return found


def _reason(path: str, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a symbolic link that points to itself"
    if error.errno == errno.ENOENT:
        linked = Path(path).is_symlink()
        return "a dangling symbolic link" if linked else "no such file or directory"
    return f"cannot be read: {error.strerror or error}"


def instead_of(path: str, base: str | Path = "") -> str:
    """Return what to give in place of a path that does not exist; empty if nothing is near. Paths
    are relative to ``base``.
    """
    scheme, colon, address = path.partition(":/")
    if colon and scheme in ("http", "https"):  # a Path has shortened it
        return f"download it first: curl -fsSLO {scheme}://{address.lstrip('/')}"
    if not _WILDCARDS.intersection(path):
        near = _nearest(path.rstrip("/"), base)
        return f"did you mean {near}?" if near else ""
    directory, _, name = path.rstrip("/").rpartition("/")
    there, names = _listed(path, directory, base)
    if any(fnmatchcase(each, name) for each in names):
        return (
            "wildcards are not expanded here, a shell expands them outside of quotes: give the "
            f"directory {directory or '.'}"
        )
    if _WILDCARDS.intersection(directory) or there.is_dir():
        return f"no file matches; there are: {few(names, _MOST)}" if names else "no file matches"
    return f"no file matches: there is no directory {directory}"


def _nearest(path: str, base: str | Path) -> str:
    """Return the path that exists and is most like a path; empty if none is near."""
    directory, slash, name = path.rpartition("/")
    if directory and not Path(base, directory).is_dir():
        directory = _nearest(directory, base)
        if not directory:
            return ""
    _, names = _listed(path, directory, base)
    near = name if name in names else nearest(name, names)
    return f"{directory}{slash}{near}" if near else ""


def _listed(path: str, directory: str, base: str | Path) -> tuple[Path, list[str]]:
    """Return a directory of a path, and the names in it."""
    there = Path(base, "/" if path.startswith("/") and not directory else directory)
    names: list[str] = []
    with suppress(OSError, ValueError):
        names = sorted(each.name for each in there.iterdir() if not each.name.startswith("."))
    return there, names


def shown(name: str) -> str:
    """Return a file name fit for display and logs: names are bytes, and need not be UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")

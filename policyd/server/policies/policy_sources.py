"""Where policies come from: a state that can be compared, and what the loader reads."""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from policyd.policy.source.files import MAX_BYTES, Bundle, BundleState, read
from policyd.server.policies.file_watch import fingerprint

# The name of the bundle of all files and directories of -p.
FILES = "-p"


class PolicySource(Protocol):
    """One place that policies come from. Both methods are called by any thread and never raise."""

    def fingerprint(self) -> Hashable:
        """Return the state of the source, which differs after a change."""

    def read(self) -> Sequence[Path | Bundle]:
        """Return what to load: paths that the loader reads, and bundles of files."""

    def states(self) -> Sequence[BundleState]:
        """Return the state of what is read into one bundle, and held back by the source itself."""


class Files:
    """Files and directories, which the loader reads."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)

    def fingerprint(self) -> Hashable:
        """Return the state of all files."""
        return fingerprint(self._paths)

    def read(self) -> Sequence[Path | Bundle]:
        """Return the paths."""
        return self._paths

    def states(self) -> Sequence[BundleState]:
        """Return nothing: files are held back as a whole."""
        return ()


class BundledFiles(Files):
    """Files and directories that are read here, beside other bundles: all of them are one."""

    def read(self) -> Sequence[Path | Bundle]:
        """Return one bundle; none without any paths."""
        if not self._paths:
            return ()
        files, problems = read(self._paths, pipes=False, most=MAX_BYTES)
        names = {each.name for each in files} | {each.file for each in problems}
        return (Bundle(FILES, tuple(files), tuple(problems), "", frozenset(names)),)


class Together:
    """Several sources as one."""

    def __init__(self, sources: Iterable[PolicySource]) -> None:
        self._sources = tuple(sources)

    def fingerprint(self) -> Hashable:
        """Return the states of all sources."""
        return tuple(each.fingerprint() for each in self._sources)

    def read(self) -> Sequence[Path | Bundle]:
        """Return what all of them return, in order."""
        return [part for each in self._sources for part in each.read()]

    def states(self) -> Sequence[BundleState]:
        """Return the states of all sources."""
        return [state for each in self._sources for state in each.states()]


def exists_in(given: Sequence[Path | Bundle]) -> Callable[[str], bool]:
    """Return a function that says whether a file still exists where sources were read from."""
    names = frozenset(name for each in given if isinstance(each, Bundle) for name in each.names)
    if any(isinstance(each, Path) for each in given):
        return lambda file: file in names or os.path.lexists(file)
    return names.__contains__

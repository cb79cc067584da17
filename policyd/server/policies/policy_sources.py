"""Sources of policies: their comparable state, and the files and bundles that the loader reads."""

import os
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Protocol

from policyd.policy.source.files import MAX_BYTES, Bundle, BundleState, read
from policyd.server.policies.file_watch import fingerprint

# The name of the bundle of all files and directories of -p.
FILES = "-p"


class PolicySource(Protocol):
    """One source of policies. Any thread may call the methods; they never raise."""

    def fingerprint(self) -> Hashable:
        """Return the state of the source, which differs after a change."""

    def read(self) -> Sequence[Path | Bundle]:
        """Return the sources to load: paths that the loader reads, and bundles of files."""

    def states(self) -> Sequence[BundleState]:
        """Return the state of parts that the source itself combines into a bundle or holds back."""


class Files:
    """Files and directories. The loader reads them, unless they are ``bundled``: then they form
    one bundle next to the bundles of other sources.
    """

    def __init__(self, paths: Sequence[Path], *, bundled: bool) -> None:
        self._paths = tuple(paths)
        self._bundled = bundled

    def fingerprint(self) -> Hashable:
        """Return the state of all files."""
        return fingerprint(self._paths)

    def read(self) -> Sequence[Path | Bundle]:
        """Return the paths, or one bundle; nothing without paths."""
        if not self._bundled or not self._paths:
            return self._paths
        files, problems = read(self._paths, pipes=False, most=MAX_BYTES)
        names = {each.name for each in files} | {each.file for each in problems}
        return (Bundle(FILES, tuple(files), tuple(problems), "", frozenset(names)),)

    def states(self) -> Sequence[BundleState]:
        """Return nothing: files are held back as a whole."""
        return ()


def exists_in(given: Sequence[Path | Bundle]) -> Callable[[str], bool]:
    """Return a function that checks whether a file still exists in the sources."""
    names = frozenset(name for each in given if isinstance(each, Bundle) for name in each.names)
    if any(isinstance(each, Path) for each in given):
        return lambda file: file in names or os.path.lexists(file)
    return names.__contains__

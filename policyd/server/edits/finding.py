"""The sources of a server before and after an edit of a ConfigMap: of one that it watches, or of
one that is mounted as a folder of -p. Checks nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.live.config_maps import bundle_of, contents, name_of
from policyd.policy.live.sources import FILES
from policyd.policy.live.store import Store
from policyd.policy.source.files import Bundle, SourceFile, read
from policyd.policy.source.tree import walk
from policyd.regular_files import open_regular
from policyd.server.edits.checking import InUse, PolicyEdit


class WatchedEdits:
    """Edits of ConfigMaps that the store reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, old: JSONObject | None, new: JSONObject | None) -> PolicyEdit:
        """Return the sources before and after the edit."""
        name = name_of(new or old or {})
        others = {key: each for key, each in self._store.latest.items() if key != name}
        current = self._store.current
        return PolicyEdit(
            _with(others, old, name),
            _with(others, new, name),
            InUse(current.policies, current.files, current.version),
        )


def _with(others: dict[str, Bundle], config_map: JSONObject | None, name: str) -> list[Bundle]:
    """Return the bundles with that of a ConfigMap, in the order in which they are loaded."""
    found = {**others} if config_map is None else {**others, name: bundle_of(config_map)}
    return [found[key] for key in sorted(found)]


class MountedEdits:
    """Edits of ConfigMaps that are mounted below the files and directories of -p: their keys are
    the files of a folder.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, old: JSONObject | None, new: JSONObject | None) -> PolicyEdit | None:
        """Return the sources before and after the edit; None if no folder has the old content."""
        folder = None if old is None else self._folder_of(old)
        if old is None or folder is None:
            return None
        files, problems = read(self._store.paths, pipes=False)
        name = name_of(old)
        others = _outside(folder, files, problems)
        after = [others] if new is None else [others, bundle_of(new)]
        current = self._store.current
        renamed = {
            f"{name}/{Path(file).name}" if _is_in(folder, file) else file: held
            for file, held in current.files.items()
        }
        in_use = InUse(current.policies, renamed, current.version)
        return PolicyEdit([others, bundle_of(old)], after, in_use)

    def _folder_of(self, config_map: JSONObject) -> str | None:
        """Return the folder whose files are the keys of a ConfigMap."""
        stored, problems = contents(config_map)
        visible = {key: data for key, data in stored.items() if not key.startswith(".")}
        if problems or not visible:
            return None
        for path in self._store.paths:
            tree = walk(str(path))
            for folder, _ in tree.folders:
                names = [Path(each).name for each in tree.files if _is_in(folder, each)]
                if sorted(names) == sorted(visible) and _holds(folder, visible):
                    return folder
        return None


def _outside(folder: str, files: Sequence[SourceFile], problems: Sequence[Problem]) -> Bundle:
    """Return the files that are not directly in a folder."""
    kept = tuple(each for each in files if not _is_in(folder, each.name))
    faults = tuple(each for each in problems if not _is_in(folder, each.file))
    return Bundle(FILES, kept, faults, "", frozenset(each.name for each in kept))


def _is_in(folder: str, file: str) -> bool:
    return file.rpartition("/")[0] == folder.rstrip("/")


def _holds(folder: str, stored: dict[str, bytes]) -> bool:
    """Whether the files of a folder have this content."""
    for name, data in stored.items():
        try:
            with open_regular(f"{folder}/{name}") as file:
                if file.read(len(data) + 1) != data:
                    return False
        except OSError:
            return False
    return True

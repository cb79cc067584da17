"""Finds the sources of a server before and after an edit of a ConfigMap that it watches, or that is
mounted as a directory of -p. Checks nothing.

A client may claim anything. So the previous content of a ConfigMap comes from the API server or the
mounted files, never from the request.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import PREFIX, contents, flat, identity_of, name_of
from policyd.policy.config_maps.team_exceptions import EXCEPTIONS
from policyd.policy.source.files import SourceFile, is_packed
from policyd.policy.source.tree import walk
from policyd.regular_files import open_regular
from policyd.server.edits.checking import is_in
from policyd.server.edits.model import InUse, PolicyEdit
from policyd.server.policies.store import Store

if TYPE_CHECKING:
    from policyd.controllers.config_maps import PolicyConfigMaps


# The largest decompressed size of a file, as a multiple of its size.
_RATIO = 10


class Submitted(NamedTuple):
    """The content of a request. ``old`` is the whole object before the edit, None for a CREATE;
    ``reads_old``: whether it had the labels. ``new`` is None if policyd will not read it.
    """

    operation: str
    old: JSONObject | None
    reads_old: bool
    new: JSONObject | None

    @property
    def name(self) -> str:
        """Return the name of the bundle."""
        return name_of(self.new or self.old or {})


class Outdated(Exception):
    """The object before the edit differs from the one in the API server."""


@dataclass(frozen=True, slots=True)
class EditFinder:
    """Finds the sources of one server before and after an edit. ``watched`` are the ConfigMaps that
    the store reads; None if ConfigMaps are mounted as directories of -p, with a file for each key.
    """

    store: Store
    watched: "PolicyConfigMaps | None"
    _: KW_ONLY
    allow_empty: bool
    definitions: bool

    async def find(self, submitted: Submitted) -> PolicyEdit | None:
        """Return the sources before and after an edit; None if policyd does not read this
        ConfigMap. Raises Outdated, and NotRead if the API server does not answer.
        """
        if self.watched is None:
            return await asyncio.to_thread(self._find_mounted, submitted)
        # All ConfigMaps as the API server holds them now, with edits that this server has not
        # loaded yet.
        held = {name_of(each): each for each in await self.watched.current()}
        read = held.pop(submitted.name, None)
        if submitted.operation != "CREATE":
            stored = read or await self.watched.one(submitted.name.removeprefix(PREFIX))
            if stored is None or submitted.old is None:
                raise Outdated
            if identity_of(stored) != identity_of(submitted.old):
                raise Outdated
        return self._edit(submitted, read, [held[name] for name in sorted(held)])

    def _find_mounted(self, submitted: Submitted) -> PolicyEdit | None:
        """Return the sources; None if no directory has the content before the edit."""
        old = submitted.old if submitted.reads_old else None
        directory = None if old is None else self._directory_of(old)
        return None if directory is None else self._edit(submitted, old, directory=directory)

    def _edit(
        self,
        submitted: Submitted,
        old: JSONObject | None,
        config_maps: Sequence[JSONObject] = (),
        directory: str = "",
    ) -> PolicyEdit:
        store = self.store
        current, exceptions = store.current, store.latest.get(EXCEPTIONS)
        size = sum(each.size for each in store.latest.values()) or _size(store.paths)
        files: Sequence[SourceFile] = () if exceptions is None else exceptions.files
        return PolicyEdit(
            submitted.name,
            None if old is None else flat(old),
            None if submitted.new is None else flat(submitted.new),
            InUse(
                [None] * len(current.policies),
                current.files,
                current.version,
                self.allow_empty,
                size,
            ),
            [flat(each) for each in config_maps],
            files,
            [str(each) for each in store.paths],
            directory,
            self.definitions,
        )

    def _directory_of(self, config_map: JSONObject) -> str | None:
        """Return the directory whose files are the keys of a ConfigMap."""
        stored, problems = contents(config_map)
        visible = {key: data for key, data in stored.items() if not key.startswith(".")}
        if problems or not visible:
            return None
        for path in self.store.paths:
            tree = walk(str(path))
            for directory, _ in tree.directories:
                names = [Path(each).name for each in tree.files if is_in(directory, each)]
                if sorted(names) == sorted(visible) and _holds(directory, visible):
                    return directory
        return None


def _holds(directory: str, stored: dict[str, bytes]) -> bool:
    """Whether the files of a directory have this content."""
    for name, data in stored.items():
        try:
            with open_regular(f"{directory}/{name}") as file:
                if file.read(len(data) + 1) != data:
                    return False
        except OSError:
            return False
    return True


def _size(paths: Sequence[Path]) -> int:
    """Return the total size of all files of -p."""
    found = (Path(file) for path in paths for file in walk(str(path)).files)
    return sum(
        (_RATIO if is_packed(each.name) else 1) * each.stat().st_size
        for each in found
        if each.is_file()
    )

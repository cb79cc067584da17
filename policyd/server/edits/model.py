"""An edit of policies and its findings, as the server and the checking process exchange them: lines
of JSON, some followed by the bytes of files. Never code, never a pickle.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from policyd.json_types import JSONObject
from policyd.policy.source.files import SourceFile
from policyd.versions import KubernetesVersion


class TooLate(Exception):
    """The time for the check is over."""


@dataclass(frozen=True, slots=True)
class InUse:
    """The number of policies in use and the classes of documents in their files, for ``losses``;
    ``size`` is the size of their sources in bytes.
    """

    policies: Sequence[None]
    files: Mapping[str, frozenset[str]]
    version: KubernetesVersion
    allow_empty: bool
    size: int = 0


@dataclass(frozen=True, slots=True)
class PolicyEdit:
    """An edit of a ConfigMap: its ``old`` and ``new`` content in the form of ``flat``, each None if
    policyd does not read it. The other sources are ConfigMaps, the files of ``paths``, and files
    that were already read. ``directory`` is the directory below ``paths`` where the old content is
    mounted; empty if it is not mounted. ``definitions``: whether to request definitions of custom
    resources.
    """

    name: str
    old: JSONObject | None
    new: JSONObject | None
    in_use: InUse
    config_maps: Sequence[JSONObject] = ()
    files: Sequence[SourceFile] = ()
    paths: Sequence[str] = ()
    directory: str = ""
    definitions: bool = False


READ_FIELDS = 4


@dataclass(frozen=True, slots=True)
class EditFindings:
    """The effect of an edit. ``errors`` is the number of all errors, ``elsewhere`` the number of
    errors outside the ConfigMap. ``shown`` are the errors of the ConfigMap for its author, and
    ``places`` the places of all errors for the log, both bounded. ``advice`` are warnings.
    ``reads`` are the objects that its policies newly read: policy, apiVersion, kind, and the
    namespace that they are limited to or "".
    """

    errors: int = 0
    elsewhere: int = 0
    shown: Sequence[str] = ()
    places: Sequence[str] = ()
    advice: Sequence[str] = ()
    reads: Sequence[Sequence[str]] = ()


def written(edit: PolicyEdit) -> Iterator[bytes]:
    """Yield the bytes of an edit."""
    in_use = edit.in_use
    yield line(
        {
            "name": edit.name,
            "old": edit.old,
            "new": edit.new,
            "policies": len(in_use.policies),
            "held": {name: sorted(classes) for name, classes in in_use.files.items()},
            "version": str(in_use.version),
            "allowEmpty": in_use.allow_empty,
            "configMaps": len(edit.config_maps),
            "files": [[each.name, each.confined, len(each.data)] for each in edit.files],
            "paths": list(edit.paths),
            "directory": edit.directory,
            "definitions": edit.definitions,
        }
    )
    for each in edit.config_maps:
        yield line(each)
    for file in edit.files:
        yield file.data


def read(stream: BinaryIO) -> PolicyEdit:
    """Return the edit that ``written`` wrote."""
    head = json.loads(stream.readline())
    config_maps = [json.loads(stream.readline()) for _ in range(head["configMaps"])]
    files = [
        SourceFile(name, name, stream.read(size), beside={}, confined=confined)
        for name, confined, size in head["files"]
    ]
    in_use = InUse(
        [None] * head["policies"],
        {name: frozenset(classes) for name, classes in head["held"].items()},
        KubernetesVersion.parse(head["version"]),
        head["allowEmpty"],
    )
    return PolicyEdit(
        head["name"],
        head["old"],
        head["new"],
        in_use,
        config_maps,
        files,
        head["paths"],
        head["directory"],
        head["definitions"],
    )


def line(message: object) -> bytes:
    """Return a message as one line."""
    return json.dumps(message).encode() + b"\n"

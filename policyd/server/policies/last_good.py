"""``serve --last-good``: keeps the last policies that loaded without an error, and restores them if
the policies are broken at start. ``LastGoodFile`` keeps them in a file.

The content is lines of JSON: one for each object of the files, without suites; or, with ConfigMaps
of policies, one for each ConfigMap and each file. Compiles nothing.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import PolicyError, PolicySchemaError, Problem
from policyd.observability.logs import Log
from policyd.policy.config_maps.config_map_files import bundle_of, config_map_of
from policyd.policy.config_maps.team_exceptions import EXCEPTIONS
from policyd.policy.source.files import Bundle, SourceFile
from policyd.policy.source.loaded_documents import Document
from policyd.regular_files import open_regular, replace_file
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_sources import FILES

_FORM = "last-good policies 1"
# With ConfigMaps of policies: their content, not the content of their documents.
_FORM_OF_BUNDLES = "last-good policies 2"


class PlaceError(Exception):
    """The place cannot be read or written; the message is the reason. ``lasting``: another attempt
    with the same content would also fail.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class KeepingPlace(Protocol):
    """Where an image is kept. Any thread may call both methods; they raise PlaceError."""

    def read(self) -> bytes | None:
        """Return the image; None if there is none."""

    def write(self, image: bytes) -> bool:
        """Replace the image; False if that is left to another replica for now."""


class LastGoodFile:
    """An image in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def read(self) -> bytes | None:
        """Return the content of the file; None if there is no file."""
        try:
            with open_regular(self._path) as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PlaceError(str(error)) from None

    def write(self, image: bytes) -> bool:
        """Replace the content of the file."""
        try:
            replace_file(self._path, image)
        except OSError as error:
            raise PlaceError(error.strerror or str(error)) from None
        return True


class LastGoodPolicies:
    """Keeps the last good set of one server. ``load`` makes a set from an image and raises
    PolicyError. Any thread may call the methods; they never raise.
    """

    def __init__(self, place: KeepingPlace, load: Callable[[bytes], LoadedSet], log: Log) -> None:
        self._place = place
        self._load = load
        self._log = log
        self._logged = ""
        self._pending = b""
        self._writing = Lock()

    def save(self, image: bytes) -> None:
        """Replace the kept image; an error is logged."""
        with self._writing:
            self._pending = image
            self._write()

    def retry(self) -> None:
        """Write the image that could not be written before."""
        with self._writing:
            if self._pending:
                self._write()

    def _write(self) -> None:
        try:
            if self._place.write(self._pending):
                self._pending, self._logged = b"", ""
        except PlaceError as error:
            self._failed(f"cannot be written: {error}")
            if error.lasting:
                self._pending = b""

    def restore(self) -> LoadedSet | None:
        """Return the kept set; None if there is none or it has no policy. An error is logged."""
        try:
            image = self._place.read()
            kept = None if image is None else self._load(image)
        except (PlaceError, PolicyError) as error:
            self._failed(f"cannot be used: {error}")
            return None
        return kept if kept is not None and kept.policies.policies else None

    def _failed(self, message: str) -> None:
        if message != self._logged:
            self._logged = message
            self._log.write("error", "last-good", f"--last-good: {self._place} {message}")


def image_of(
    documents: Iterable[Document], bundles: Iterable[Bundle], breathe: Callable[[], None]
) -> bytes:
    """Return the image of these documents, or of their bundles; ``breathe`` is called after each.
    Exceptions of teams are not kept: requests that they exempted are then denied.

    Suites of files are left out, because the files that they name are not kept.
    """
    lines = [json.dumps({"form": _FORM})]
    listed = [each for each in bundles if each.name != EXCEPTIONS]
    if listed:
        lines = [json.dumps({"form": _FORM_OF_BUNDLES})]
    for bundle in listed:
        if bundle.name == FILES:
            for each in bundle.files:
                text = each.data.decode("utf-8", "surrogateescape")
                lines.append(json.dumps({"file": each.name, "text": text}))
        else:
            lines.append(json.dumps({"configMap": config_map_of(bundle)}))
        breathe()
    for document in documents if not listed else ():
        if document.kind != "PolicyTest":
            with deep_recursion():  # the encoder counts each level of an object
                lines.append(json.dumps({"file": document.file, "object": document.raw}))
            breathe()
    return "".join(f"{line}\n" for line in lines).encode()


class ImageContent(NamedTuple):
    """The content of an image: objects by source file, or bundles."""

    objects: dict[str, list[dict[str, Any]]]
    bundles: tuple[Bundle, ...] = ()


def content_of(image: bytes) -> ImageContent:
    """Return the content of an image; raises PolicySchemaError if it is damaged."""
    try:
        head, *lines = image.decode().splitlines()
        form = json.loads(head)
        if form == {"form": _FORM_OF_BUNDLES}:
            return ImageContent({}, _bundles(lines))
        if form != {"form": _FORM}:
            raise ValueError(f"expected the form {_FORM!r}")
        return ImageContent(_objects(lines))
    except (ValueError, KeyError, TypeError) as error:
        message = f"its content is damaged: {type(error).__name__}: {error}"
        raise PolicySchemaError([Problem(message)]) from None


def _objects(lines: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    files: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        with deep_recursion():
            entry = json.loads(line)
        if not isinstance(entry["file"], str):
            raise TypeError("file must be a string")
        files.setdefault(entry["file"], []).append(entry["object"])
    return files


def _bundles(lines: Iterable[str]) -> tuple[Bundle, ...]:
    files: list[SourceFile] = []
    bundles: list[Bundle] = []
    for line in lines:
        entry = json.loads(line)
        if "configMap" in entry:
            bundles.append(bundle_of(entry["configMap"]))
        else:
            data = entry["text"].encode("utf-8", "surrogateescape")
            files.append(SourceFile(entry["file"], entry["file"], data))
    if files:
        names = frozenset(each.name for each in files)
        bundles.insert(0, Bundle(FILES, tuple(files), (), "", names))
    return tuple(bundles)

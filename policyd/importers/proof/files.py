"""Read the files that tests name, each once. Evaluates nothing."""

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from policyd.errors import PolicySchemaError
from policyd.importers.proof.rows import TestUnusable
from policyd.importers.reading import documents_of
from policyd.json_types import JSONObject
from policyd.policy.source.files import read, read_bytes
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.splitting import read_values

_URLS = ("http://", "https://")


class TestFiles:
    """The objects in the files beside tests, by the real paths of the files."""

    __test__ = False

    def __init__(self) -> None:
        self._read: dict[str, tuple[Document, ...]] = {}

    def objects(self, test: Document, names: Iterable[str]) -> list[Document]:
        """Return the objects of files and directories that a test names, relative to its own.
        Raises TestUnusable for one that cannot be read.
        """
        return [each for path in self.paths(test, names) for each in self._objects(path)]

    def values(self, test: Document, name: str) -> list[JSONObject]:
        """Return the objects of a file that need not be Kubernetes objects."""
        (path,) = self.paths(test, [name])
        try:
            values, problems = read_values(name, read_bytes(path))
        except (OSError, ValueError, EOFError, zlib.error) as error:
            raise TestUnusable(f"{name}: {error}") from None
        if problems:
            raise TestUnusable(str(PolicySchemaError(problems)))
        if not all(isinstance(each, dict) for each in values):
            raise TestUnusable(f"{name}: expected objects")
        return values

    def has(self, test: Document, name: str) -> bool:
        """Whether there is a file or directory that a test names."""
        try:
            return _beside(test, name).exists()
        except OSError:  # the name is too long, or a directory may not be read
            return False

    def paths(self, test: Document, names: Iterable[str]) -> Iterator[str]:
        """Yield the real paths of what a test names."""
        for name in names:
            if name.startswith(_URLS):
                raise TestUnusable(f"{name} is not on this machine: download it first")
            if not self.has(test, name):
                raise TestUnusable(f"{name}: no such file or directory")
            yield os.path.realpath(_beside(test, name))

    def _objects(self, path: str) -> tuple[Document, ...]:
        if path not in self._read:
            files, problems = read([path])
            found: list[Document] = []
            for each in files:
                documents, wrong = documents_of(each)
                found += documents
                problems += wrong
            if problems:
                raise TestUnusable(str(PolicySchemaError(problems)))
            self._read[path] = tuple(found)
        return self._read[path]


def _beside(test: Document, name: str) -> Path:
    return Path(os.path.realpath(test.file)).parent / name

"""The imported policies that tests are about: found by file and name, and imported again for tests that
bring exceptions of their own. Reads no tests.
"""

import os
from collections.abc import Iterable, Sequence

from policyd.importers.all import CONVERTERS, ConverterTable, convert
from policyd.importers.checking import CheckedImport, checked
from policyd.policy.source.documents import Document
from policyd.versions import KubernetesVersion


class ImportIndex:
    """All imports of the sources. ``documents`` are those of the sources, which a second import of
    one policy needs again.
    """

    def __init__(
        self,
        imports: Iterable[CheckedImport],
        documents: Sequence[Document],
        version: KubernetesVersion,
        converters: ConverterTable = CONVERTERS,
    ) -> None:
        self._documents = documents
        self._version = version
        self._converters = converters
        self._by_file: dict[str, list[CheckedImport]] = {}
        self._again: dict[tuple[int, tuple[int, ...]], CheckedImport] = {}
        for each in imports:
            file = os.path.realpath(each.imported.source.file)
            self._by_file.setdefault(file, []).append(each)

    def within(self, paths: Iterable[str]) -> list[CheckedImport]:
        """Return the imports of the policies in these files and folders, by their real paths."""
        found: list[CheckedImport] = []
        for path in paths:
            folder = f"{path}{os.sep}"
            for file, imports in self._by_file.items():
                if file == path or file.startswith(folder):
                    found += imports
        return found

    def excepting(self, one: CheckedImport, exceptions: Sequence[Document]) -> CheckedImport:
        """Return the same policy imported together with the exceptions of a test."""
        source = one.imported.source
        key = (id(source), tuple(map(id, exceptions)))
        if key not in self._again:
            others = [*self._documents, *exceptions]
            found = convert(source, others, self._converters)
            self._again[key] = checked(found[0], self._version) if found else one
        return self._again[key]

"""The policies that tests are about: imported from the sources now, or imported before. Runs no
tests.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from policyd.importers.all import CONVERTERS, ConverterTable, convert
from policyd.importers.checking import CheckedImport, checked
from policyd.importers.model import Imported, ImportedDocument
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.rows import TestUnusable
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.source.documents import Document, Sources
from policyd.versions import KubernetesVersion

# The policy of a name that a test uses; None: there is none.
PolicyByName = Callable[[str], CheckedImport | None]


class TestedPolicies(Protocol):
    """What tests find their policies in."""

    @property
    def mapper(self) -> ResourceMapper:
        """The resources of the kinds that the sources define."""

    def named(
        self, test: Document, policies: Sequence[str], exceptions: Sequence[str], files: TestFiles
    ) -> PolicyByName:
        """Return the policies in the files that a test of Kyverno names, with its exceptions."""

    def constrained(
        self, test: Document, constraint: str, template: str, files: TestFiles
    ) -> CheckedImport | None:
        """Return what became of the constraint of a test of Gatekeeper, or of its template."""


class ImportIndex:
    """All imports of the sources. ``documents`` are those of the sources, which a second import of
    one policy, with the exceptions of a test, needs again.
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
        defined = definitions_among(each.raw for each in documents)
        self.mapper = BUILT_IN.with_definitions(defined)
        self._by_file: dict[str, list[CheckedImport]] = {}
        for each in imports:
            file = os.path.realpath(each.imported.source.file)
            self._by_file.setdefault(file, []).append(each)

    def named(
        self, test: Document, policies: Sequence[str], exceptions: Sequence[str], files: TestFiles
    ) -> PolicyByName:
        more = files.objects(test, exceptions)
        within = self._within(files.paths(test, policies))
        found = {
            each.imported.source.name: self._excepting(each, more) if more else each
            for each in within
        }
        return found.get

    def constrained(
        self, test: Document, constraint: str, template: str, files: TestFiles
    ) -> CheckedImport | None:
        for name in filter(None, (constraint, template)):
            found = self._within(files.paths(test, [name]))
            if found:
                return found[0]
        return None

    def _within(self, paths: Iterable[str]) -> list[CheckedImport]:
        """Return the imports of the policies in these files and folders, by their real paths."""
        found: list[CheckedImport] = []
        for path in paths:
            folder = f"{path}{os.sep}"
            for file, imports in self._by_file.items():
                if file == path or file.startswith(folder):
                    found += imports
        return found

    def _excepting(self, one: CheckedImport, exceptions: Sequence[Document]) -> CheckedImport:
        others = [*self._documents, *exceptions]
        found = convert(one.imported.source, others, self._converters)
        return checked(found[0], self._version) if found else one


class ImportedBefore:
    """Policies of policyd, found by the names that an import gives them: that of the source policy,
    or of several Policies each with the name of its rule.
    """

    def __init__(self, sources: Sources) -> None:
        self._policies = sources.of_kind("Policy")
        self._compiled: CompiledPolicySet = compiler.compile_strict(sources)
        self.mapper = self._compiled.mapper

    def named(
        self, test: Document, policies: Sequence[str], exceptions: Sequence[str], files: TestFiles
    ) -> PolicyByName:
        if exceptions:
            raise TestUnusable(
                "its exceptions are those of Kyverno: policyd import converts them with policies"
            )
        return self._named

    def constrained(
        self, test: Document, constraint: str, template: str, files: TestFiles
    ) -> CheckedImport | None:
        found = files.objects(test, [constraint]) if constraint else []
        return self._named(found[0].name) if found else None

    def _named(self, name: str) -> CheckedImport | None:
        whole = [each for each in self._policies if each.name == name]
        rules = [each for each in self._policies if each.name.startswith(f"{name}-")]
        found = whole or rules
        if not found:
            return None
        names: dict[str, tuple[str, ...]] = {"": tuple(each.name for each in found)}
        if not whole:
            for each in found:
                rule = _without_number(each.name.removeprefix(f"{name}-"))
                names[rule] = (*names.get(rule, ()), each.name)
        documents = tuple(ImportedDocument(each.raw) for each in found)
        return CheckedImport(Imported(found[0], documents, rules=names), self._compiled)


def _without_number(rule: str) -> str:
    """Return the name of a rule without the number that keeps mutations in their order."""
    number, _, rest = rule.partition("-")
    return rest if rest and number.isdigit() else rule

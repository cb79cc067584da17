"""Run all tests of the sources: each with the policies that it names. Prints nothing."""

import os
from collections.abc import Iterable, Iterator, Sequence

from policyd.importers.checking import CheckedImport
from policyd.importers.model import Imported
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.gatekeeper import prove_gatekeeper
from policyd.importers.proof.imports import TestedPolicies
from policyd.importers.proof.kyverno import prove_kyverno
from policyd.importers.proof.rows import Proof
from policyd.importers.reading import KYVERNO_TESTS
from policyd.policy.source.loaded_documents import Document


def prove(tests: Iterable[Document], policies: TestedPolicies) -> Iterator[Proof]:
    """Yield what becomes of every row of these tests, in order."""
    files = TestFiles()
    for each in tests:
        yield from prove_one(each, policies, files)


def prove_one(test: Document, policies: TestedPolicies, files: TestFiles) -> Iterator[Proof]:
    """Yield what becomes of every row of one test."""
    runner = prove_kyverno if test.group == KYVERNO_TESTS else prove_gatekeeper
    yield from runner(test, policies, files)


def rows_of(imports: Sequence[CheckedImport], proofs: Iterable[Proof]) -> list[tuple[Proof, ...]]:
    """Return the rows about each import, in the order of the imports."""
    rows: dict[tuple[str, int], list[Proof]] = {}
    for each in proofs:
        if each.imported is not None:
            rows.setdefault(_key(each.imported), []).append(each)
    return [tuple(rows.get(_key(each.imported), ())) for each in imports]


def _key(imported: Imported) -> tuple[str, int]:
    """Return the identity of a source policy, also in a second import of it."""
    return os.path.realpath(imported.source.file), imported.source.index

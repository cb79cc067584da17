"""Run all tests of the sources: each with the policies that it names. Prints nothing."""

from collections.abc import Iterable, Iterator

from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.gatekeeper import prove_gatekeeper
from policyd.importers.proof.imports import TestedPolicies
from policyd.importers.proof.kyverno import prove_kyverno
from policyd.importers.proof.rows import Proof
from policyd.importers.reading import KYVERNO_TESTS
from policyd.policy.source.documents import Document


def prove(tests: Iterable[Document], policies: TestedPolicies) -> Iterator[Proof]:
    """Yield what becomes of every row of these tests, in order."""
    files = TestFiles()
    for each in tests:
        yield from prove_one(each, policies, files)


def prove_one(test: Document, policies: TestedPolicies, files: TestFiles) -> Iterator[Proof]:
    """Yield what becomes of every row of one test."""
    runner = prove_kyverno if test.group == KYVERNO_TESTS else prove_gatekeeper
    yield from runner(test, policies, files)

"""Run all tests of the sources: each with the policies that it names. Prints nothing."""

from collections.abc import Iterator, Sequence

from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.gatekeeper import prove_gatekeeper
from policyd.importers.proof.imports import TestedPolicies
from policyd.importers.proof.kyverno import prove_kyverno
from policyd.importers.proof.rows import Proof
from policyd.importers.reading import KYVERNO_TESTS
from policyd.policy.source.documents import Document


def prove(tests: Sequence[Document], policies: TestedPolicies) -> Iterator[Proof]:
    """Yield what becomes of every row of these tests, in order."""
    files = TestFiles()
    for each in tests:
        runner = prove_kyverno if each.group == KYVERNO_TESTS else prove_gatekeeper
        yield from runner(each, policies, files)

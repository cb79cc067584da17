"""Every suite that comes with policyd holds, judged by the policies beside it.

The runner itself sees to it that what was mutated is left alone when it comes again.
"""

from pathlib import Path

import pytest

from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite import runner
from tests.shared import ROOT

SUITES = sorted((ROOT / "policies").rglob("suite.yaml"))
IDS = [str(each.parent.relative_to(ROOT / "policies")) for each in SUITES]


def results(document: Document) -> list[runner.CaseResult]:
    """The cases of a suite, judged by the policies that it names, as `policyd test` does."""
    whole = compiler.compile_strict(loader.load([Path(document.file).parent]))
    policies = SuitePolicies.of(document, whole)
    return runner.run(document, policies.admit, within=policies.admitting)


@pytest.mark.parametrize("file", SUITES, ids=IDS)
def test_suites_hold(file: Path) -> None:
    (document,) = loader.load([file]).documents
    found = results(document)
    assert len(found) >= 4
    wrong = [(each.name, each.error, each.mismatches) for each in found if not each.passed]
    assert wrong == []
    print(f"{len(found)} passed of {len(found)}")

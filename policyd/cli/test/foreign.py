"""Tests of Kyverno and Gatekeeper for policies that were imported before: found beside suites,
run, and reported as suites are. Imports no policy.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import perf_counter_ns

from policyd.cli.test.run import CaseRun, RunOptions, SuiteRun
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.imports import ImportedBefore
from policyd.importers.proof.proving import prove_one
from policyd.importers.proof.rows import Proof
from policyd.importers.reading import KYVERNO_FILES, read_tests
from policyd.json_types import strings_in
from policyd.policy.model.suite import SuiteRequest
from policyd.policy.model.suite_cases import SuiteCase
from policyd.policy.source.files import read
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.loader import load, load_files
from policyd.policy.suite.expectations import Mismatch
from policyd.policy.suite.runner import CaseResult
from policyd.versions import KubernetesVersion

_RESULT = "result"
_GROUPS = (b"policyd.dev/", b"admissionregistration.k8s.io/")


def load_tested(
    paths: Sequence[Path], version: KubernetesVersion
) -> tuple[Sources, Sequence[Document]]:
    """Load policies and suites, and the tests of other engines: neither these nor the files that
    they name are among the first.
    """
    foreign, problems = read_tests(paths)
    if not foreign:
        return load(paths, version=version), ()
    files, more = read(paths)
    named = {name for each in foreign for name in _files_of(each)}
    beside = {str(Path(os.path.realpath(each.file)).parent) for each in foreign}
    kept = [
        each
        for each in files
        if Path(each.name).name not in KYVERNO_FILES
        and each.real not in named
        # Files beside a test count as parts of it unless they hold policies or suites.
        and (str(Path(each.real).parent) not in beside or any(g in each.data for g in _GROUPS))
    ]
    return load_files(kept, [*problems, *more], version=version), foreign


def run_foreign(
    tests: Iterable[Document], sources: Sources, options: RunOptions
) -> Iterator[SuiteRun]:
    """Run tests of other engines with the policies of the sources. A row about a policy that is not
    among them is an error.
    """
    policies, files = ImportedBefore(sources), TestFiles()
    for each in tests:
        cases = []
        started = perf_counter_ns()
        for proof in prove_one(each, policies, files):
            case = _case(each, proof, (perf_counter_ns() - started) / 1e9)
            started = perf_counter_ns()
            if options.select is None or options.select.search(f"{each.name}/{case.case.name}"):
                cases.append(case)
        yield SuiteRun(each, tuple(cases))


def _case(test: Document, proof: Proof, seconds: float) -> CaseRun:
    row = proof.row
    name = f"{row.policy} {row.rule}".strip()
    name = f"{name}: {row.subject}" if name else "the whole test"
    mismatches: tuple[Mismatch, ...] = ()
    if proof.state == "disagrees":
        mismatches = (Mismatch(_RESULT, row.expected, proof.reason),)
    error = proof.reason if proof.state == "not run" and proof.reason != "skipped" else ""
    result = CaseResult(test.name, name, test.file, row.line, mismatches, error, seconds)
    case = SuiteCase(
        name, (), SuiteRequest(), None, None, True, False, states=(), changes={}, removed=()
    )
    return CaseRun(case, result)


def _files_of(test: Document) -> Iterator[str]:
    """Yield the real paths of a test and of everything that it may name."""
    yield os.path.realpath(test.file)
    directory = Path(os.path.realpath(test.file)).parent
    for text in strings_in(test.raw):
        if "\0" not in text and len(text) < os.pathconf("/", "PC_PATH_MAX"):
            yield os.path.realpath(directory / text)

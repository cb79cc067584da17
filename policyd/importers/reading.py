"""Read the sources of an import: files, directories and streams with policies of other engines, and
the tests that lie beside them. Converts nothing.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from policyd.errors import Problem
from policyd.policy.source.files import SourceFile, read
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import Origin
from policyd.policy.source.splitting import NOT_AN_OBJECT, read_located, split
from policyd.policy.source.tree import walk

KYVERNO_TESTS = "cli.kyverno.io"
GATEKEEPER_TESTS = "test.gatekeeper.sh"
# The file that `kyverno test` looks for; its first versions had neither apiVersion nor kind.
KYVERNO_FILES = ("kyverno-test.yaml", "kyverno-test.yml")
# Where Kyverno's own repository keeps the tests of a policy; a walk passes over hidden directories.
_BESIDE = ".kyverno-test"


@dataclass(frozen=True, slots=True)
class ImportSources:
    """Everything that was read.

    ``documents`` are the Kubernetes objects of all kinds, ``tests`` the documents that say how to
    test policies. ``problems``: what cannot be read; what is no Kubernetes object is left out.
    ``incomplete`` are the kinds of which some objects of a cluster are missing.
    """

    documents: tuple[Document, ...]
    tests: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    incomplete: frozenset[str] = frozenset()


def read_sources(paths: Sequence[Path]) -> ImportSources:
    """Read files and directories, and ``-`` for standard input; never raises for their content."""
    files, problems, more = _read(paths)
    documents: list[Document] = []
    tests: list[Document] = []
    problems += more
    for file in files:
        found, wrong = documents_of(file)
        for each in found:
            (tests if is_test(each) else documents).append(each)
        problems += (each for each in wrong if each.rule != NOT_AN_OBJECT)
    return ImportSources(tuple(documents), tuple(tests), tuple(problems))


def read_tests(paths: Sequence[Path]) -> tuple[list[Document], list[Problem]]:
    """Return the tests of other engines in files and directories, hidden ones included, and
    problems of the files that Kyverno would look for. Other files are not checked.
    """
    files, _, problems = _read(paths)
    tests: list[Document] = []
    for file in files:
        is_kyverno = _is_kyverno_test(file)
        if is_kyverno or GATEKEEPER_TESTS.encode() in file.data:
            found, wrong = documents_of(file)
            tests += filter(is_test, found)
            problems += wrong if is_kyverno else []
    return tests, problems


def _read(paths: Sequence[Path]) -> tuple[list[SourceFile], list[Problem], list[Problem]]:
    """Return the files, hidden tests last, and the problems of those that are named and hidden."""
    files, problems = read(paths)
    known = {each.real for each in files}
    hidden, more = read([each for each in _hidden_tests(paths) if each not in known])
    return [*files, *hidden], problems, more


def documents_of(file: SourceFile) -> tuple[list[Document], list[Problem]]:
    """Return the documents of a file; a test of Kyverno without apiVersion gets one."""
    if not _is_kyverno_test(file):
        return split(file.name, file.data, file.root)
    located, problems = read_located(file.name, file.data)
    found = []
    for index, (raw, origin) in enumerate(located):
        if isinstance(raw, dict):
            found.append(_kyverno_test(raw, file, index, origin))
        else:
            problems.append(Problem("a test must be an object", file.name, origin.chunk.line + 1))
    return found, problems


def is_test(document: Document) -> bool:
    """Whether a document says how to test policies, rather than what they are."""
    return (document.group, document.kind) in (
        (KYVERNO_TESTS, "Test"),
        (GATEKEEPER_TESTS, "Suite"),
    )


def _is_kyverno_test(file: SourceFile) -> bool:
    return PurePath(file.name).name.lower() in KYVERNO_FILES


def _kyverno_test(raw: dict[str, object], file: SourceFile, index: int, origin: Origin) -> Document:
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else raw.get("name")
    kind, version = raw.get("kind", "Test"), raw.get("apiVersion", f"{KYVERNO_TESTS}/v1alpha1")
    return Document(
        kind=str(kind),
        api_version=str(version),
        name=str(name or ""),
        namespace="",
        file=file.name,
        index=index,
        raw=raw,
        origin=origin,
        root=file.root,
    )


def _hidden_tests(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the tests in hidden directories, of given directories and beside given files."""
    for path in paths:
        if str(path) == "-":
            continue
        tree = walk(str(path))
        directories = [name for name, _ in tree.directories] or [str(path.parent)]
        for directory in directories:
            for name in KYVERNO_FILES:
                found = Path(directory) / _BESIDE / name
                if found.is_file():
                    yield os.path.realpath(found)

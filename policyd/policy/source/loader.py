"""Load documents from sources: read, split, check and model files; collect every problem.

Compiles nothing and queries no cluster. A broken document never hides another's problems.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from policyd._core.json.sizes import is_deeper
from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import PolicySchemaError, Problem
from policyd.policy.model.suite import PolicyTest
from policyd.policy.source.background_pace import full_speed
from policyd.policy.source.budget import MAX_DEPTH, POLICIES, OverBudget, SourceBudget
from policyd.policy.source.files import Bundle, SourceFile, is_source, read, unreadable
from policyd.policy.source.fixtures import Outside, inside, read_beside
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.policy.source.lint_comments import MARK, comments_in
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.mistakes.duplicates import Origins, origins_of, without_duplicates
from policyd.policy.source.mistakes.near_misses import defined_kinds, near_miss
from policyd.policy.source.modelling import only_exceptions, with_model
from policyd.policy.source.splitting import over_budget, read_values, split
from policyd.versions import NEWEST, KubernetesVersion

_NO_BUNDLES: Origins = {}


def load(
    given: Iterable[str | Path | Bundle],
    *,
    version: KubernetesVersion = NEWEST,
    breathe: Callable[[], None] = full_speed,
    pipes: bool = True,
    budget: SourceBudget | None = None,
) -> Sources:
    """Load the documents of files and directories, and of bundles; never raises for their content.
    ``breathe`` is called between small pieces of work. Without ``pipes``, no pipe is read, which
    could block. ``budget`` is for all of them together: what exceeds it is a problem, and nothing
    of the file, nor of those after it, is loaded.
    """
    listed = [given] if isinstance(given, str | Path) else [*given]
    files, problems = read([each for each in listed if not isinstance(each, Bundle)], pipes=pipes)
    bundles = [each for each in listed if isinstance(each, Bundle)]
    for bundle in bundles:
        files += bundle.files
        problems += bundle.problems
    return load_files(
        files,
        problems,
        version=version,
        breathe=breathe,
        budget=budget,
        origins=origins_of(bundles),
    )


def load_named(suite: Document, *, version: KubernetesVersion) -> Sources:
    """Load the files that a suite names under ``policies``."""
    names = suite.model.policies or () if isinstance(suite.model, PolicyTest) else ()
    if suite.beside is None:
        return load(named_policies(suite) or (), version=version)
    problems: list[Problem] = []
    keys: dict[str, None] = {}
    for name in names:
        try:
            named = inside(suite, name)
        except Outside as error:
            problems.append(Problem(str(error), file=suite.file))
            continue
        whole = named == Path(suite.file).parent
        keys.update(dict.fromkeys(filter(is_source, sorted(suite.beside)) if whole else [name]))
    files: list[SourceFile] = []
    for key in keys:
        shown = str(inside(suite, key))
        try:
            files.append(SourceFile(shown, shown, read_beside(suite, key), beside=suite.beside))
        except (OSError, EOFError, zlib.error, ValueError) as error:
            problems.append(unreadable(shown, error))
    return load_files(files, problems, version=version)


def load_text(text: str, name: str = "<text>", *, version: KubernetesVersion = NEWEST) -> Sources:
    """Load the documents of a string, as if it were a file of that name."""
    data = text.encode("utf-8", "surrogatepass")
    return load_files([SourceFile(name, name, data)], version=version)


def load_built(objects: Iterable[Mapping[str, Any]], *, version: KubernetesVersion) -> Sources:
    """Load documents built by a program. Problems name the first ``documents[0]``, without a line.

    Raises TypeError for a value that JSON cannot hold.
    """
    files = []
    for index, each in enumerate(objects):
        name = f"documents[{index}]"
        try:
            if is_deeper(each, MAX_DEPTH):  # encoders recurse in C
                raise TypeError(f"nested deeper than {MAX_DEPTH} levels")
            data = json_bytes(each)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name}: {error}") from None
        files.append(SourceFile(name, name, data))
    return load_files(files, version=version, built=True)


def load_saved(
    files: Mapping[str, Iterable[Mapping[str, Any]]], *, version: KubernetesVersion
) -> Sources:
    """Load objects that were loaded before and kept, by the names of their files."""
    with deep_recursion():  # the encoder counts each level of an object
        saved = [
            SourceFile(name, name, "\n".join(map(json.dumps, objects)).encode())
            for name, objects in files.items()
        ]
    return load_files(saved, version=version)


def read_one(data: bytes | str, name: str = "<text>") -> Any:
    """Return the value of a YAML or JSON document (None: empty); raises ``PolicySchemaError``."""
    given = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    values, problems = read_values(name, given)
    if len(values) > 1:
        problems = [Problem(f"expected one document, got {len(values)}", file=name)]
    if problems:
        raise PolicySchemaError(problems)
    return values[0] if values else None


def require(sources: Sources) -> Sources:
    """Return the sources; raises ``PolicySchemaError`` with every problem if there are any."""
    if sources.problems:
        raise PolicySchemaError(sources.problems)
    return sources


def load_files(
    files: Sequence[SourceFile],
    problems: Iterable[Problem] = (),
    *,
    version: KubernetesVersion,
    breathe: Callable[[], None] = full_speed,
    built: bool = False,
    budget: SourceBudget | None = None,
    origins: Origins = _NO_BUNDLES,
) -> Sources:
    """Load the documents of files that were read; ``problems`` occurred while reading them.
    ``built``: the files are values of a program. ``origins``: the bundles that they are of.
    """
    budget = budget or SourceBudget(POLICIES)
    budget.breathe = breathe
    by_file: dict[str, tuple[list[Document], list[Problem]]] = {}
    for file in files:
        documents, broken = _modelled(file, budget, built=built)
        if budget.exceeded:
            problems = [*problems, *broken]  # not of a file that may be a fixture
            break
        by_file[file.real] = documents, broken
    for fixture in list(_fixtures(by_file)):
        by_file.pop(fixture, None)
    everything = [document for documents, _ in by_file.values() for document in documents]
    used, unused = without_duplicates(_without_near_misses(everything), origins)
    found = [*problems, *(problem for _, broken in by_file.values() for problem in broken)]
    found += [problem for document in (*used, *unused) for problem in document.problems]
    order = {file.name: index for index, file in enumerate(files)}
    found.sort(key=lambda problem: (order.get(problem.file, -1), problem.line, problem.column))
    return Sources(
        tuple(used),
        tuple(found),
        _generation(files),
        tuple(
            comment
            for file in files
            if MARK in file.data and not file.confined  # nothing of a team is advised about
            for comment in comments_in(file.name, file.data, breathe)
        ),
        version,
        tuple(unused),
    )


def _modelled(
    file: SourceFile, budget: SourceBudget, *, built: bool
) -> tuple[list[Document], list[Problem]]:
    """Return the documents of a file with their models, and its problems."""
    documents, broken = split(file.name, file.data, file.root, budget, built=built)
    if file.beside is not None:
        documents = [replace(each, beside=file.beside) for each in documents]
    if file.confined:
        documents, refused = only_exceptions(documents, file.confined)
        broken = [*broken, *refused]
    found: list[Document] = []
    for each in documents:
        try:
            budget.look()
        except OverBudget as error:
            return [], [*broken, over_budget(file.name, error)]
        found.append(with_model(each))
    return found, broken


def _fixtures(by_file: dict[str, tuple[list[Document], list[Problem]]]) -> Iterator[str]:
    """Yield the real paths of the files that suites name as objects and reviews.

    Files with a policy are skipped: a suite could otherwise remove that policy.
    """
    for documents, _ in by_file.values():
        for document in documents:
            if document.kind == "PolicyTest":
                for name in fixture_names(document):
                    with suppress(Outside):  # reported when the case is run
                        real = str(inside(document, name))
                        if not any(each.is_policy for each in by_file.get(real, ((), ()))[0]):
                            yield real


def named_policies(suite: Document) -> list[Path] | None:
    """Return the files and directories of a suite's ``policies``; None: it tests the whole set."""
    if not isinstance(suite.model, PolicyTest) or suite.model.policies is None:
        return None
    directory = Path(suite.file).parent
    return [directory / name for name in suite.model.policies]


def fixture_names(document: Document) -> Iterator[str]:
    """Yield the files named in the requests and states of a suite, even of one with problems."""
    for holder in _holders(document.raw):
        for key in ("objectFile", "oldObjectFile", "reviewFile", "paramsFile", "readsFile"):
            if isinstance(holder.get(key), str):
                yield holder[key]


def _holders(suite: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a suite that may name files: itself, cases, rows and their requests."""
    cases = _objects_in(suite, "cases")
    rows = [row for case in cases for row in _objects_in(case, "table")]
    tests = [*cases, *rows]
    requests = [each["request"] for each in tests if isinstance(each.get("request"), dict)]
    yield from (suite, *tests, *requests)


def _objects_in(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    items = holder.get(key)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []


def _without_near_misses(documents: list[Document]) -> list[Document]:
    """Return the documents, those that are parameters by mistake with a problem."""
    defined = defined_kinds(documents)
    result = []
    for document in documents:
        wrong = near_miss(document, defined)
        result.append(
            document if wrong is None else document.with_problems(document.problem(wrong))
        )
    return result


def _generation(files: Iterable[SourceFile]) -> str:
    """Return a short hash of all bytes, so equal sources have one generation at any mount path."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(len(file.data).to_bytes(8, "big"))
        digest.update(file.data)
    return digest.hexdigest()[:16]

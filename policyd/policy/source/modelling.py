"""Build the checked model of a raw document: ``model`` checks the shape, ``checks`` the values; and
leave out what a confined file may not hold.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import Fix, Problem
from policyd.json_types import FieldPath
from policyd.policy.checks.document_checks import check
from policyd.policy.checks.exceptions import check_scope
from policyd.policy.checks.suite import NO_EXPECTATION
from policyd.policy.model.exceptions import PolicyException
from policyd.policy.model.findings import FormProblem, schema_findings, words
from policyd.policy.model.kinds import KINDS
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.mistakes.near_misses import near_miss
from policyd.policy.source.yaml_text.rows import quoted, without_comment


def with_model(document: Document) -> Document:
    """Return the document with its model or its problems; parameters are returned unchanged."""
    with deep_recursion():
        return _modelled(document)


def _modelled(document: Document) -> Document:
    versions, model = KINDS.get(document.kind, ((), None))
    if model is None or not (document.is_policy or document.api_version in versions):
        return document
    found, faults = model.read(document.raw)
    tagged = dict(_tag_problems(document))
    # Other faults of tagged values follow from their tags.
    form = [each for each in schema_findings(faults, model) if not _is_below(each.path, tagged)]
    values = check(found)
    if isinstance(found, PolicyException):
        values += check_scope(found, document.confined)
    wrong = {*tagged, *(each.path for each in form)}
    values = [each for each in values if not _is_below(each.path, wrong)]
    findings = [*form, *_without_missed(values, _read_as_absent(document.raw, form, tagged))]
    if document.api_version not in versions:  # a near miss
        findings = [each for each in findings if each.path != ("apiVersion",)]
    problems = (*tagged.values(), *map(document.problem, findings))
    return replace(document, readable=found, problems=(*document.problems, *problems))


def only_exceptions(
    documents: Iterable[Document], namespace: str
) -> tuple[list[Document], list[Problem]]:
    """Return the PolicyExceptions of a file of a namespace, confined to it, and a problem for each
    other document. Those are left out: not even as params may they have an effect.
    """
    kept: list[Document] = []
    problems: list[Problem] = []
    for document in documents:
        wrong = near_miss(document)
        if document.kind == "PolicyException" and document.is_policy and wrong is None:
            kept.append(replace(document, confined=namespace))
            continue
        message = (
            f"Forbidden: {document.kind} of {document.api_version}: exceptions of a namespace hold"
            " policyd.dev/v1 PolicyException documents only"
        )
        found = wrong or FormProblem(("kind",), message)
        problems.append(document.problem(found))
    return kept, problems


def _tag_problems(document: Document) -> Iterator[tuple[FieldPath, Problem]]:
    """Yield the values that YAML takes as tags, with their paths."""
    for tagged, written, line, column in document.origin.tagged():
        node = tagged.node
        in_one_line = not node.style and node.start_mark.line == node.end_mark.line
        whole = without_comment(written) if in_one_line else ""
        fix = Fix(whole, whole) if whole else None
        hint = quoted(written)
        problem = document.problem(FormProblem(tagged.path, tagged.message, hint, fix=fix))
        excerpt = document.origin.chunk.excerpt(line, column)
        yield tagged.path, replace(problem, line=line, column=column, excerpt=excerpt)


def _read_as_absent(
    raw: dict[str, Any], form: Iterable[FormProblem], tagged: Iterable[FieldPath]
) -> dict[FieldPath, set[str]]:
    """Return the fields that are absent because they are wrong or misspelt, by their object."""
    absent: dict[FieldPath, set[str]] = {}
    for each in form:
        if each.meant:
            path = (*each.path[:-1], each.within) if each.within else each.path[:-1]
            parent: Any = raw
            for step in path:
                parent = parent.get(step) if step == each.within else parent[step]
            absent.setdefault(path, set()).update(each.meant.difference(parent or ()))
    wrong = (each.path for each in form if each.rule != "unknown-field")
    for *parents, name in filter(None, (*wrong, *tagged)):
        absent.setdefault(tuple(parents), set()).add(str(name))
    return absent


def _without_missed(
    values: Iterable[FormProblem], absent: Mapping[FieldPath, set[str]]
) -> Iterator[FormProblem]:
    """Leave out what is required only because it is read as absent: that is another problem."""
    nothing: set[str] = set()
    for each in values:
        if each.message.startswith("Required value"):
            # A field that a row of a table lacks may be in its case, but for its name.
            around = {
                name for parent in _parents(each.path[:-1]) for name in absent.get(parent, ())
            }
            named = absent.get(each.path, nothing) | absent.get(each.path[:-1], nothing)
            if each.rule == NO_EXPECTATION and each.path in absent:
                continue  # any field is an expectation
            if around.intersection(each.path) - {"name"} or named.intersection(words(each.message)):
                continue
        yield each


def _is_below(path: FieldPath, paths: Container[FieldPath]) -> bool:
    """Whether a path is, or begins with, one of these paths."""
    return any(each in paths for each in _parents(path))


def _parents(path: FieldPath) -> list[FieldPath]:
    """Return a path and all its prefixes."""
    return [path[:length] for length in range(len(path) + 1)]

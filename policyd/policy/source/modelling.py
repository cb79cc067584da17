"""Build the checked model of a raw document: ``model`` checks the shape, ``checks`` the values; and
leave out what a confined file may not hold.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import Fix, Problem
from policyd.json_types import FieldPath
from policyd.policy.checks.document_checks import check
from policyd.policy.checks.exceptions import check_scope
from policyd.policy.model.base import Model, ModelError
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
    if model is None or document.api_version not in versions:
        return document
    tagged = list(_tag_problems(document))
    try:
        found = model.validated(document.raw)
        findings = check(found)
        if isinstance(found, PolicyException):
            findings += check_scope(found, document.confined)
    except ModelError as error:
        findings = schema_findings(error, model)
        findings += _value_findings(document.raw, model, findings)
        findings = _without_misspelt(document.raw, findings)
    else:
        if not findings and not tagged:
            return replace(document, model=found)
    if tagged:  # what else is wrong with these values follows from their tags
        related = _Related(path for path, _ in tagged)
        findings = [each for each in findings if each.path not in related]
    return document.with_problems(
        *(problem for _, problem in tagged), *(document.problem(finding) for finding in findings)
    )


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
        whole = without_comment(written) if tagged.in_one_line() else ""
        fix = Fix(whole, whole) if whole else None
        hint = quoted(written)
        problem = document.problem(FormProblem(tagged.path, tagged.message, hint, fix=fix))
        excerpt = document.origin.chunk.excerpt(line, column)
        yield tagged.path, replace(problem, line=line, column=column, excerpt=excerpt)


def _without_misspelt(raw: dict[str, Any], findings: list[FormProblem]) -> list[FormProblem]:
    """Leave out what is required only because its name is misspelt: that is another problem."""
    meant: dict[FieldPath, set[str]] = {}
    for each in findings:
        if each.meant:
            path = (*each.path[:-1], each.within) if each.within else each.path[:-1]
            parent: Any = raw
            for step in path:
                parent = parent.get(step) if step == each.within else parent[step]
            meant.setdefault(path, set()).update(each.meant.difference(parent or ()))

    def follows(each: FormProblem) -> bool:
        # A field that a row of a table lacks may be in its case.
        around = {name for parent in _parents(each.path[:-1]) for name in meant.get(parent, ())}
        return each.message.startswith("Required value") and (
            not around.isdisjoint(map(str, each.path))
            or not meant.get(each.path[:-1], set()).isdisjoint(words(each.message))
        )

    return [each for each in findings if not follows(each)]


def _value_findings(
    raw: dict[str, Any], model: type[Model], schema: list[FormProblem]
) -> list[FormProblem]:
    """Return the value problems of a document whose shape has errors.

    The faulty fields are removed and the rest is checked; a problem of a removed field (or of its
    parents) would only repeat the error and is dropped.
    """
    reduced = copy.deepcopy(raw)
    removed = [finding.path for finding in schema]
    for path in sorted(removed, key=lambda path: tuple(map(_sort_key, path)), reverse=True):
        _remove(reduced, path)
    try:
        found = model.validated(reduced)
    except ModelError:
        return []  # a list whose items shifted, or a field that cannot be removed
    related = _Related(removed)
    lists = {path[:-1] for path in removed if path and isinstance(path[-1], int)}
    return [
        finding
        for finding in check(found)
        if finding.path not in related and lists.isdisjoint(_parents(finding.path))
    ]


class _Related:
    """The paths that are a prefix of one of these paths, or have one of them as a prefix."""

    def __init__(self, paths: Iterable[FieldPath]) -> None:
        self._whole = set(paths)
        self._parents = {parent for path in self._whole for parent in _parents(path)}

    def __contains__(self, path: FieldPath) -> bool:
        return path in self._parents or not self._whole.isdisjoint(_parents(path))


def _parents(path: FieldPath) -> list[FieldPath]:
    """Return a path and all its prefixes."""
    return [path[:length] for length in range(len(path) + 1)]


def _sort_key(part: str | int) -> tuple[int, int, str]:
    """Sort indexes as numbers: items are removed from the end, so that the others keep theirs."""
    return (0, part, "") if isinstance(part, int) else (1, 0, part)


def _remove(value: Any, path: FieldPath) -> None:
    for part in path[:-1]:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return
    last = path[-1] if path else None
    if isinstance(value, list) and isinstance(last, int) and last < len(value):
        del value[last]
    elif isinstance(value, dict):
        value.pop(last, None)

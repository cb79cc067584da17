"""Documents of one name: each but the first gets a problem. Loads and compiles nothing.

Within one bundle of sources the copy stays, as a broken policy. A copy in another bundle, such as
another team's ConfigMap, is left out with all that is only about it: the policy in use comes from
the bundle which was created first, and quarantining the copy would deny what it matches for both.
The order does not depend on edits, so all replicas come to the same result, and none holds an edit
back because of a copy.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from policyd.errors import Problem
from policyd.policy.model.kinds import KINDS, POLICY_KINDS
from policyd.policy.source.files import Bundle
from policyd.policy.source.loaded_documents import Document

# The rule of the problems of copies that are left out.
NAME_TAKEN = "name-taken"


class SourceOrigin(NamedTuple):
    """The bundle of a file, in the order in which names are given: by the second of its creation,
    then by name. Files without a bundle, the operator's, come first.
    """

    created: str = ""
    bundle: str = ""


Origins = Mapping[str, SourceOrigin]


def origins_of(bundles: Iterable[Bundle]) -> Origins:
    """Return the origin of each file in bundles, by name."""
    return {
        file.name: SourceOrigin(each.created, each.name) for each in bundles for file in each.files
    }


def without_duplicates(
    documents: list[Document], origins: Origins
) -> tuple[list[Document], list[Document]]:
    """Return the documents, each duplicate with a problem that names the first one; those that are
    left out apart.

    The name of a Policy is unique across all policy kinds; a VAP and a MAP may share one.
    """
    taken: dict[tuple[str, ...], Document] = {}
    result = list(documents)
    lines: dict[int, int] = {}  # of the first ones: finding one reads its text again
    left_out: set[tuple[str, str, str]] = set()  # bundle, name and kind of policies
    order = sorted(range(len(documents)), key=lambda at: _origin(documents[at], origins))
    for at in order:
        document = documents[at]
        if not document.name or document.kind == "PolicyTest":
            continue
        first = next(filter(None, map(taken.get, _rivals(document))), None)
        if first is None:
            taken[_identity(document, document.kind)] = document
            continue
        bundle = _origin(document, origins).bundle
        copies = _is_policy(document) and bundle != _origin(first, origins).bundle
        if id(first) not in lines:
            lines[id(first)] = first.place("metadata.name")[0]
        there = lines[id(first)]
        result[at] = document.with_problems(_duplicate(document, first, there, unused=copies))
        if copies:
            left_out.add((bundle, document.name, document.kind))
    kept: list[Document] = []
    unused: list[Document] = []
    for document in result:
        # What is about a copy of its bundle would bind, stage or exempt the policy used instead.
        bundle = _origin(document, origins).bundle
        out = any((bundle, *each) in left_out for each in _about(document))
        (unused if out else kept).append(document)
    return kept, unused


def _origin(document: Document, origins: Origins) -> SourceOrigin:
    return origins.get(document.file, SourceOrigin())


def _is_policy(document: Document) -> bool:
    return document.is_policy and document.kind in POLICY_KINDS


def _about(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the names and kinds of the policies that a document is, binds, stages or exempts."""
    if _is_policy(document):
        yield document.name, document.kind
        return
    spec = document.spec
    if not document.is_policy:
        return
    names = [spec.get("policyName")]
    if document.kind == "PolicyException":
        entries = spec.get("policies")
        listed = entries if isinstance(entries, list) else []
        names = [each.get("name") for each in listed if isinstance(each, dict)]
    bound = document.kind.removesuffix("Binding")
    for name in names:
        if isinstance(name, str):
            yield from (
                (name, kind) for kind in ((bound,) if bound in POLICY_KINDS else POLICY_KINDS)
            )


def _identity(document: Document, kind: str) -> tuple[str, ...]:
    if document.confined:  # teams know nothing of each other's names
        return (kind, document.file.rpartition("/")[0], document.name)
    # A PolicyException of another engine has a namespace.
    if kind in KINDS and (document.kind != "PolicyException" or document.is_policy):
        return (kind, document.name)
    return (document.group, kind, document.namespace, document.name)


def _rivals(document: Document) -> list[tuple[str, ...]]:
    """Return the identities that no earlier document may have."""
    kinds = [document.kind]
    if document.kind == "Policy":
        kinds = list(POLICY_KINDS)
    elif document.kind in POLICY_KINDS:
        kinds.append("Policy")
    return [_identity(document, kind) for kind in kinds]


def _duplicate(document: Document, first: Document, there: int, *, unused: bool) -> Problem:
    line, column = document.place("metadata.name")
    before = f"{first.file}:{there}" if there else first.file
    message = f"{document.label} is defined twice: first in {before}"
    hint = "rename one of them, or remove it"
    if first.kind != document.kind:
        message = f"{document.label} has the same name as the {first.kind} in {before}"
        hint = "the name of a Policy must be unique across all policy kinds"
    if unused:
        hint = f"rename it: only the policy in {first.file} is used, which was created first"
    return Problem(
        message,
        file=document.file,
        line=line,
        column=column,
        path="metadata.name",
        hint=hint,
        rule=NAME_TAKEN if unused else "duplicate-name",
    )

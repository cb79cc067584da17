"""Detect documents that are meant as policies or suites, but whose apiVersion or kind is not one
that policyd reads. They would otherwise be parameters, and would silently do nothing.

Custom resources with a CustomResourceDefinition among the sources stay parameters, whatever their
names; and so do the kinds of other engines, such as Kyverno's Policy.
"""

from collections.abc import Container, Iterable
from functools import lru_cache

from policyd.near_names import nearest
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import (
    ADMISSION_GROUP,
    ADMISSION_V1,
    KINDS,
    POLICYD_GROUP,
    POLICYD_V1,
)
from policyd.policy.source.loaded_documents import Document

Defined = tuple[str, str]  # the group and the kind of a CustomResourceDefinition

_OTHER_ADMISSION_KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
# The lowest ratio of difflib for one or two wrong letters in names of this length.
_GROUP_RATIO, _KIND_RATIO, _LONG_KIND_RATIO = 0.88, 0.8, 0.92
# Names that users of other engines may write for our kinds.
_SYNONYMS = {
    "clusterpolicy": "Policy",
    "policyset": "Policy",
    "policysuite": "PolicyTest",
    **dict.fromkeys(("exception", "policyexemption", "exemption"), "PolicyException"),
}
# Fields that only our kinds have under this name; a parameter of the same kind has other fields.
_FORMS = {
    "Policy": ("spec", ("validations", "mutations")),
    "PolicyException": ("spec", ("policies",)),
    "PolicyTest": ("", ("cases",)),
}


def near_miss(document: Document, defined: Container[Defined] = ()) -> FormProblem | None:
    """Return the problem of a document that looks like a parameter but is meant for policyd.

    These are: a kind of our groups that does not exist, or not in this version; a kind of
    Kubernetes' admission policies, or a misspelled one, in any other apiVersion; one of our kinds,
    or a similar one, in a group with a similar name; a Policy or PolicyTest of any group with the
    fields of ours. Outside our groups it may be a custom resource: it is if ``defined`` has it.
    """
    kind, api_version = document.kind, document.api_version
    if api_version in KINDS.get(kind, ((), None))[0]:
        return None
    if document.group in (POLICYD_GROUP, ADMISSION_GROUP):
        known = document.group == ADMISSION_GROUP and kind in _OTHER_ADMISSION_KINDS
        return None if known else _in_our_group(document)
    if (document.group, kind) in defined:
        return None
    group = _similar_group(document.group or api_version)
    meant = nearest_kind(kind, group) if group else _same_or_misspelled(document)
    if not meant:
        return None
    message = f"Unsupported value: policyd does not read kind {kind} of {api_version}"
    own = "if it is a custom resource, add its CustomResourceDefinition to the files"
    hint = f"{_write(meant, document)}; {own}"
    return FormProblem(("apiVersion",), message, hint)


def defined_kinds(documents: Iterable[Document]) -> frozenset[Defined]:
    """Return the kinds of the CustomResourceDefinitions among the documents."""
    found = set[Defined]()
    for document in documents:
        if document.kind == "CustomResourceDefinition":
            names = document.spec.get("names")
            if isinstance(names, dict):
                found.add((str(document.spec.get("group")), str(names.get("kind"))))
    return frozenset(found)


@lru_cache(maxsize=256)
def nearest_kind(kind: str, group: str) -> str:
    """Return the kind that a wrong kind of the group is probably meant to be; empty if none is."""
    if kind in KINDS:
        return kind
    known = {name.lower(): name for name in _kinds_of(group)}
    folded = kind.lower()
    if folded in _SYNONYMS:
        return _SYNONYMS[folded]
    singular = f"{folded[:-3]}y" if folded.endswith("ies") else folded.removesuffix("s")
    return known.get(nearest(singular, known, _KIND_RATIO), "")


def _in_our_group(document: Document) -> FormProblem:
    """Return the problem of a kind or version that a group of ours does not have."""
    kind, group = document.kind, document.group
    meant = nearest_kind(kind, group)
    field = "apiVersion" if meant == kind else "kind"
    known = ", ".join(_kinds_of(group))
    hint = _write(meant, document) if meant else f"policyd reads these kinds of {group}: {known}"
    if kind.endswith("Binding") and known.startswith("Policy,"):
        hint = "remove it: a Policy has no binding"
    message = f"Unsupported value: {document.api_version} has no kind {kind}"
    return FormProblem((field,), message, hint)


def _same_or_misspelled(document: Document) -> str:
    """Return the kind that a document of a group unlike ours is meant to be; empty if none is."""
    kind, raw = document.kind, document.raw
    field, members = _FORMS.get(kind, ("", ()))
    holder = raw.get(field) if field else raw
    if isinstance(holder, dict) and any(isinstance(holder.get(name), list) for name in members):
        return kind
    return _misspelled(kind)


@lru_cache(maxsize=256)
def _misspelled(kind: str) -> str:
    """Return the kind of Kubernetes' admission policies that has almost this long name."""
    known = {name.lower(): name for name in _kinds_of(ADMISSION_GROUP)}
    return known.get(nearest(kind.lower(), known, _LONG_KIND_RATIO), "")


def _write(meant: str, document: Document) -> str:
    """Return the hint with the lines to write instead."""
    versions = KINDS[meant][0]
    lines = []
    if document.api_version not in versions:
        lines.append(f"apiVersion: {versions[0]}")
    if document.kind != meant:
        lines.append(f"kind: {meant}")
    return f"write {' and '.join(lines)}"


def _kinds_of(group: str) -> list[str]:
    own = POLICYD_V1 if group == POLICYD_GROUP else ADMISSION_V1
    return [name for name, (versions, _) in KINDS.items() if versions == own]


@lru_cache(maxsize=256)
def _similar_group(group: str) -> str:
    """Return the group of ours that has a similar name; empty if none has.

    Similar: one or two wrong letters, or the same name in another domain (``policyd.io``) or
    without one (``policyd``). ``policy`` and ``policy.example.com`` are not.
    """
    folded = group.lower()
    for ours in (POLICYD_GROUP, ADMISSION_GROUP):
        name = ours.partition(".")[0]
        if name in folded.split("."):
            return ours
        if nearest(folded, [ours], _GROUP_RATIO):
            return ours
    return ""

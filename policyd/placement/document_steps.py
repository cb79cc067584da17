"""Evaluates the stored documents of placed policies, and decides which to write next. No I/O.

A policy document and its binding work only together, and API servers learn about each at a
different moment. So both never change at once while the binding exists.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from policyd.export.metadata import POLICY
from policyd.json_types import JSONObject
from policyd.ownership import labels_in
from policyd.placement.comparing import in_step, same_spec
from policyd.placement.placed_documents import (
    Key,
    annotations_in,
    belongs_to,
    is_binding,
    key_of,
    policy_of,
)
from policyd.placement.placement import PolicyPart

# How long API servers may take to notice stored changes. Each follows changes with its own watches,
# and compiles policies once per second.
# From the storage of the webhook's rules until every API server follows them.
WIDE_SECONDS = 5.0
# From the storage of a policy until its binding may be stored, so that no API server combines the
# binding with a former policy.
BINDING_SECONDS = 2.0
# From the storage of documents until every API server enforces them: if a controller has reported
# that it has seen them, and if none reports.
SEEN_SECONDS = 5.0
UNSEEN_SECONDS = 10.0


Stored = Mapping[Key, JSONObject]
Wanted = Mapping[PolicyPart, Sequence[JSONObject]]


@dataclass(frozen=True, slots=True)
class DocumentStep:
    """Apply or delete one document; ``found`` is the stored one."""

    what: Literal["apply", "delete"]
    document: JSONObject
    found: JSONObject | None


def parts_in_step(wanted: Wanted, stored: Stored) -> frozenset[PolicyPart]:
    """Return the parts whose stored documents are all in step."""
    return frozenset(
        part
        for part, documents in wanted.items()
        if documents and all(_in_step(each, stored) for each in documents)
    )


def foreign(wanted: Wanted, stored: Stored, registration: str) -> dict[PolicyPart, str]:
    """Return the parts with a document whose name is taken by a document that policyd did not
    place.
    """
    found: dict[PolicyPart, str] = {}
    for part, documents in wanted.items():
        for each in documents:
            there = stored.get(key_of(each))
            if there is not None and not belongs_to(there, registration):
                kind, name = key_of(each)
                found[part] = f"there is a {kind} {name} that this policyd did not place"
    return found


def removals(
    wanted: Wanted, stored: Stored, registration: str, keep: Collection[str] = ()
) -> list[DocumentStep]:
    """Return the documents to delete once the webhook is called for their policies: unwanted ones,
    and bindings that change together with their policies.

    ``keep`` are the names of policies whose documents stay because their sources have errors.
    """
    documents = _by_key(wanted)
    surplus = [
        found
        for key, found in stored.items()
        if key not in documents
        and belongs_to(found, registration)
        and annotations_in(found).get(POLICY) not in keep
    ]
    # Without its binding a policy does nothing.
    surplus.sort(key=lambda each: (not is_binding(each["kind"]), *key_of(each)))
    changing = [
        stored[key]
        for key, each in documents.items()
        if is_binding(each["kind"]) and _changes_with_policy(each, documents, stored)
    ]
    return [DocumentStep("delete", each, each) for each in (*changing, *surplus)]


def policy_writes(wanted: Wanted, stored: Stored) -> list[DocumentStep]:
    """Return the policies to apply, without those whose binding must be deleted first."""
    documents = _by_key(wanted)
    changing = {
        policy_of(each)
        for each in documents.values()
        if is_binding(each["kind"]) and _changes_with_policy(each, documents, stored)
    }
    return [
        DocumentStep("apply", each, stored.get(key))
        for key, each in documents.items()
        if not is_binding(each["kind"]) and key not in changing and not _in_step(each, stored)
    ]


def binding_writes(wanted: Wanted, stored: Stored) -> Iterator[DocumentStep]:
    """Yield the bindings to apply, for policies that are in step."""
    documents = _by_key(wanted)
    for key, each in documents.items():
        if is_binding(each["kind"]) and not _in_step(each, stored):
            policy = documents.get(policy_of(each))
            if policy is None or _in_step(policy, stored):
                yield DocumentStep("apply", each, stored.get(key))


def observed(documents: Iterable[JSONObject]) -> bool:
    """Whether a controller has reported for each of these policies that it has checked it.

    Only ValidatingAdmissionPolicies have such a status, and only if kube-controller-manager runs.
    It proves that the document has reached more than the API server that stored it.
    """
    return all(
        is_binding(each["kind"])
        or (each.get("status") or {}).get("observedGeneration", 0)
        >= each["metadata"].get("generation", 1)
        for each in documents
    )


def type_warnings(document: JSONObject) -> list[str]:
    """Return the type-checking warnings of the API server's controller."""
    checked = (document.get("status") or {}).get("typeChecking") or {}
    return [
        f"{each.get('fieldRef')}: {_readable(str(each.get('warning')))}"
        for each in checked.get("expressionWarnings") or ()
    ]


def _readable(warning: str) -> str:
    """Return a warning without the marks of the checker: ``/v1, Kind=Pod: ERROR: <input>:1:8: …``
    becomes ``v1 Pod: 1:8: …``.
    """
    return "\n".join(map(_readable_line, warning.rstrip().split("\n")))


def _readable_line(line: str) -> str:
    kind, marked, error = f": {line}".partition(": ERROR: <input>:")
    if not marked or line.startswith(" | "):  # the source
        return line
    named = kind.removeprefix(": ").removeprefix("/").replace(", Kind=", " ", 1)
    return f"{named}: {error}" if named else error


def replacing(found: JSONObject, wanted: JSONObject) -> JSONObject:
    """Return the document that replaces the stored one, no matter who wrote it."""
    metadata = found["metadata"]
    return {
        **wanted,
        "metadata": {
            **wanted["metadata"],
            "resourceVersion": metadata["resourceVersion"],
            "labels": {**labels_in(found), **labels_in(wanted)},
            "annotations": {**annotations_in(found), **annotations_in(wanted)},
        },
    }


def _by_key(wanted: Wanted) -> dict[Key, JSONObject]:
    return {key_of(each): each for documents in wanted.values() for each in documents}


def _in_step(document: JSONObject, stored: Stored) -> bool:
    found = stored.get(key_of(document))
    return found is not None and in_step(found, document)


def _changes_with_policy(
    binding: JSONObject, documents: Mapping[Key, JSONObject], stored: Stored
) -> bool:
    """Whether a binding and its policy are both stored, and both specs differ."""
    policy = policy_of(binding)
    pairs = [
        (stored.get(key_of(binding)), binding),
        (stored.get(policy), documents.get(policy)),
    ]
    return all(
        found is not None and wanted is not None and not same_spec(found, wanted)
        for found, wanted in pairs
    )

"""The Policies that a source policy becomes, as a person would write them. Translates nothing."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from policyd.importers.fields import object_at
from policyd.importers.model import Imported, ImportedDocument, ImportNotes, Refused
from policyd.json_types import JSON, FieldPath, JSONObject
from policyd.policy.source.loaded_documents import Document

# The order of the fields of a Policy (docs/write/policies.md).
_ORDER = (
    "description",
    "matchConstraints",
    "podControllers",
    "matchConditions",
    "params",
    "paramKind",
    "paramRef",
    "reads",
    "variables",
    "failurePolicy",
    "timeoutSeconds",
    "validationActions",
    "validations",
    "auditAnnotations",
    "mutations",
    "reinvocationPolicy",
    "exceptions",
)
# Fields about the object in the API server, and not about the policy.
_STORED = "kubectl.kubernetes.io/"

ACTIONS = ("Deny", "Warn", "Audit")


def whole(
    source: Document, kind: str, convert: Callable[[ImportNotes], Sequence[ImportedDocument]]
) -> Imported:
    """Return the import of a policy without rules: all of it is converted, or nothing.

    ``convert`` raises Refused for what cannot be imported.
    """
    notes = ImportNotes()
    try:
        documents = convert(notes)
    except Refused as refused:
        return Imported(source, reasons=(refused.finding,), kind_of_rule=(kind,))
    return Imported(
        source,
        documents=tuple(documents),
        remarks=tuple(notes.remarks),
        rules={"": tuple(each.name for each in documents)},
        kind_of_rule=(kind,),
    )


def policy(
    name: str,
    metadata: JSONObject,
    spec: JSONObject,
    comments: Mapping[FieldPath, str] | None = None,
) -> ImportedDocument:
    """Return a Policy with the labels and annotations of ``metadata``, unless they are empty, and
    the fields of ``spec`` in order. ``comments`` are by path in ``spec``.
    """
    raw: JSONObject = {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": {"name": name, **{field: kept for field, kept in metadata.items() if kept}},
        "spec": {field: spec[field] for field in _ORDER if field in spec},
    }
    found = {("spec", *path): comment for path, comment in (comments or {}).items()}
    return ImportedDocument(raw, found)


def shadowed(imported: Imported) -> Imported:
    """Return the same import with a rollout that enforces nowhere in every Policy."""
    documents = []
    for each in imported.documents:
        spec = {**object_at(each.raw, "spec"), "rollout": {"enforce": {}}}
        documents.append(replace(each, raw={**each.raw, "spec": spec}))
    return replace(imported, documents=tuple(documents))


def in_effect(actions: Collection[str], path: str, notes: ImportNotes) -> list[str]:
    """Return validationActions in their order, without one that has no effect beside another."""
    ordered = [each for each in ACTIONS if each in actions]
    if "Deny" in ordered and "Warn" in ordered:
        ordered.remove("Warn")
        notes.remark(path, "Warn was left out: a denial has the message already")
    return ordered


def overlay(tree: JSON) -> JSONObject:
    """Return an Overlay."""
    return {"patchType": "Overlay", "overlay": tree}


def json_patch(expression: str) -> JSONObject:
    """Return a JSONPatch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def resource_rule(
    groups: Iterable[str],
    versions: Iterable[str],
    operations: Iterable[str],
    resources: Iterable[str],
) -> JSONObject:
    """Return one item of ``resourceRules``."""
    return {
        "apiGroups": [*groups],
        "apiVersions": [*versions],
        "operations": [*operations],
        "resources": [*resources],
    }


def metadata_of(document: Document) -> JSONObject:
    """Return labels and annotations of a document, without those that kubectl writes. Raises
    Refused.
    """
    metadata = object_at(document.raw, "metadata")
    given = {field: object_at(metadata, field, "metadata") for field in ("labels", "annotations")}
    return {
        field: {key: each for key, each in values.items() if not key.startswith(_STORED)}
        for field, values in given.items()
    }

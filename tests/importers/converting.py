"""Call converters with plain objects, and evaluate what came of them. No tests here."""

from collections.abc import Callable, Sequence

import policyd
from policyd.importers.model import Imported
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loaded_documents import Document

Converter = Callable[[Document, Sequence[Document]], list[Imported]]

# Values of ``spec`` with which a CustomResourceDefinition is not usable.
BROKEN_DEFINITIONS: list[JSON] = [
    3,
    {"group": "example.com", "names": ["Bus"], "versions": [None]},
    {"group": "example.com", "names": {"kind": "Bus"}, "versions": {}},
    {"names": {"kind": "Bus", "plural": "buses-of-town"}, "versions": []},
]


def document(raw: JSONObject) -> Document:
    """A document of a source with this content."""
    metadata = raw["metadata"]
    return Document(
        raw["kind"],
        raw["apiVersion"],
        metadata["name"],
        metadata.get("namespace", ""),
        "source.yaml",
        0,
        raw,
    )


def converted(convert: Converter, raw: JSONObject, *others: JSONObject) -> Imported:
    """What the only policy of a document became."""
    [found] = convert(document(raw), [document(raw), *map(document, others)])
    return found


def spec_of(imported: Imported) -> JSONObject:
    """The ``spec`` of the only Policy that a policy became."""
    [result] = imported.documents
    spec: JSONObject = result.raw["spec"]
    return spec


def reason_of(imported: Imported) -> str:
    """Why a policy was not imported: the field and the reason."""
    [reason] = imported.reasons
    return f"{reason.path}: {reason.message}"


def messages(imported: Imported, review: JSONObject, *supporting: JSONObject) -> list[str]:
    """The messages of violations of what a policy became, in order."""
    policies = [each.raw for each in imported.documents]
    result = policyd.PolicySet.from_documents(*policies, *supporting).evaluate(review)
    return [each.message for each in result.violations]


def changed(imported: Imported, obj: JSONObject) -> JSON:
    """An object after the mutations of what a policy became."""
    policies = policyd.PolicySet.from_documents(*(each.raw for each in imported.documents))
    result = policies.evaluate(policyd.build_review(obj, defaults=False), "mutate")
    assert result.allowed, result.message
    return result.object

"""Import a source policy that has no rules of its own: all of it is converted, or nothing."""

from collections.abc import Callable, Sequence

from policyd.importers.model import Imported, ImportedDocument, ImportRemark, Refused
from policyd.policy.source.loaded_documents import Document

Converted = tuple[Sequence[ImportedDocument], Sequence[ImportRemark]]


def whole(source: Document, kind: str, convert: Callable[[], Converted]) -> Imported:
    """Return what became of a policy; ``convert`` raises Refused for what cannot be imported."""
    try:
        documents, remarks = convert()
    except Refused as refused:
        return Imported(source, reasons=(refused.finding,), kind_of_rule=(kind,))
    return Imported(
        source,
        documents=tuple(documents),
        remarks=tuple(remarks),
        rules={"": tuple(each.name for each in documents)},
        kind_of_rule=(kind,),
    )

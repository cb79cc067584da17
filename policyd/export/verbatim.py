"""Export policies in Kubernetes' own kinds: as they are, with their bindings."""

from policyd.export.metadata import as_written, metadata, source_hash
from policyd.export.model import ExportedPart, Reason
from policyd.export.served import api_version, not_served
from policyd.policy.compile.bindings import PolicyBindings
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion

# The kinds, and the webhook at which policyd serves them.
KINDS: dict[str, Webhook] = {
    "ValidatingAdmissionPolicy": "validate",
    "MutatingAdmissionPolicy": "mutate",
}


def verbatim_part(
    document: Document, bindings: PolicyBindings, version: KubernetesVersion
) -> ExportedPart:
    """Return a policy and its bindings, sorted by name. Only apiVersion and metadata change."""
    webhook = KINDS[document.kind]
    served = api_version(document.kind, version)
    if served is None:
        return ExportedPart(
            webhook, reasons=(Reason("apiVersion", not_served(document.kind, version)),)
        )
    bound = bindings.of(document)
    sources = [document.raw, *(binding.raw for binding in bound)]
    digest = source_hash(sources, version)
    documents = tuple(
        {
            **as_written(source),
            "apiVersion": served,
            "metadata": metadata(source, source["metadata"]["name"], document.name, digest),
        }
        for source in sources
    )
    remarks = () if bound else (Reason("metadata.name", "it has no binding, so it does nothing"),)
    return ExportedPart(webhook, documents, remarks=remarks)

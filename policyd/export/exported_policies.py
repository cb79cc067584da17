"""Export policies: the documents with which the API server enforces them, or why it cannot."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from policyd.cel.syntax.recursion import deep_recursion
from policyd.export.checks import checked, with_free_names
from policyd.export.metadata import as_written, metadata, source_hash
from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.export.mutating.part import mutation_part
from policyd.export.policy_views import ExportSource
from policyd.export.served import KINDS, api_version, not_served
from policyd.export.validations import validation_part
from policyd.policy.compile.bindings import PolicyBindings
from policyd.policy.compile.exemptions import Attachments, Exemption
from policyd.policy.compile.overlays import KnownKinds
from policyd.policy.compile.rollouts import PolicyRollouts, rollout_of
from policyd.policy.kinds.definitions import definitions
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.versions import KubernetesVersion

# PolicyExceptions that a reason names.
MAX_NAMES = 3
_WEBHOOKS = {kind: webhook for webhook, kind in KINDS.items()}


def exported(
    sources: Sources, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> tuple[ExportedPolicy, ...]:
    """Export every policy of the sources, in their order, for the version of the sources.

    The sources must be without problems. ``now`` decides which exceptions have expired, and which
    rollouts are over.
    """
    with deep_recursion():  # expressions and params have at most 1,000 levels
        return with_free_names(list(_exported(sources, now())))


def _exported(sources: Sources, time: datetime) -> Iterator[ExportedPolicy]:
    bindings, attachments = PolicyBindings(sources), Attachments(sources)
    known = definitions(sources).documents
    kinds, crds = KnownKinds(known, sources.version), [definition.raw for definition in known]
    rollouts = PolicyRollouts(sources)
    for document in sources.of_kind("Policy", *_WEBHOOKS):
        attached, _ = attachments.of(document)
        valid = [each for each in attached if each.ends is None or time < each.ends]
        parts = (
            _own_parts(ExportSource(document, document.model, sources.version, time), kinds)
            if isinstance(document.model, Policy)
            else (_verbatim_part(document, bindings, sources.version),)
        )
        staged = _staged(document, rollouts, time)
        line, _ = document.place()
        yield ExportedPolicy(
            document.kind,
            document.name,
            document.file,
            line,
            tuple(
                checked(_unshared(_exempted(part, valid).refused(staged)), sources.version, crds)
                for part in parts
            ),
        )


def _staged(document: Document, rollouts: PolicyRollouts, now: datetime) -> list[Reason]:
    """Return the reason why a policy cannot be exported before its rollout is over."""
    named = rollouts.of(document)
    rollout = rollout_of(document, named)
    if rollout is None or (rollout.until is not None and rollout.until <= now):
        return []
    path = "metadata.name" if named else "spec.rollout"
    of = f"{named[0].label} is not over" if named else "it is not over"
    return [Reason(path, f"the API server has no rollouts, and {of}")]


def _exempted(part: ExportedPart, exemptions: Iterable[Exemption]) -> ExportedPart:
    """Return the part, not exported if a PolicyException is about it: the API server knows none."""
    names = [each.name for each in exemptions if not each.validations or part.webhook == "validate"]
    if not names:
        return part
    text = f"the API server does not know PolicyExceptions, and this one names it: {names[0]}"
    if len(names) > 1:
        text = f"the API server does not know PolicyExceptions, and {len(names)} name it: " + (
            ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")
        )
    return part.refused([Reason("metadata.name", text)])


def _unshared(part: ExportedPart) -> ExportedPart:
    """Return the part with documents that have no value in common, with each other or with their
    source: YAML writers print a shared value as an alias.
    """
    documents = tuple(json.loads(json.dumps(document)) for document in part.documents)
    return replace(part, documents=documents)


def _own_parts(source: ExportSource, kinds: KnownKinds) -> tuple[ExportedPart, ...]:
    """Return the parts of a Policy, one for each webhook."""
    parts: list[ExportedPart] = []
    if source.spec.validations or source.spec.audit_annotations:
        parts.append(validation_part(source))
    if source.spec.mutations:
        parts.append(mutation_part(source, kinds))
    return tuple(parts)


def _verbatim_part(
    document: Document, bindings: PolicyBindings, version: KubernetesVersion
) -> ExportedPart:
    """Return a policy of Kubernetes' own kinds and its bindings, sorted by name: as they are, but
    for apiVersion and metadata.
    """
    webhook = _WEBHOOKS[document.kind]
    served = api_version(document.kind, version)
    if served is None:
        reason = Reason("apiVersion", not_served(document.kind, version))
        return ExportedPart(webhook, reasons=(reason,))
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

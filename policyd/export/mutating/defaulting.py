"""Defaults that the API server sets between two mutations, and policyd does not.

A mutation that runs after another mutation, or a second time, could see them. It is refused if it
reads a field that may get its default because of what is written before.
"""

from collections.abc import Iterator

from policyd.export.model import Reason, shown_path
from policyd.export.mutating.affected import Affected
from policyd.export.mutating.mutations import MutationTranslator
from policyd.export.mutating.reads import ALL, read_by, read_by_overlay
from policyd.export.policy_views import PolicySource
from policyd.mutation.schemas.schemas import KindSchema
from policyd.policy.model.expressions import HeldMutation
from policyd.versions import KubernetesVersion


def affected_by_defaults(source: PolicySource, translator: MutationTranslator) -> Iterator[Reason]:
    """Yield why a mutation may see a default that it does not see in policyd."""
    spec, version = source.spec, source.version
    again = spec.reinvocation_policy == "IfNeeded"
    mutations = translator.mutations
    if len(mutations) < 2 and not again:
        return
    shared = {name for each in spec.variables for name in read_by(each.expression, version)}
    if again:
        for condition in spec.match_conditions:
            shared |= read_by(condition.expression, version)
    for schema in translator.schemas:
        effects = [_effects(each, schema, translator, version) for each in mutations]
        written = set[str]().union(*(own for _, own in effects)) if again else set()
        for each, (read, own) in zip(mutations, effects, strict=True):
            seen = shared | read
            found = sorted(written if ALL in seen else written & seen)
            if found:
                yield Reason(
                    shown_path(each.path),
                    "it runs after a mutation, when the API server has set the defaults of new "
                    f"fields, and may see the default of {found[0]}",
                )
            written |= own


def _effects(
    each: HeldMutation,
    schema: KindSchema,
    translator: MutationTranslator,
    version: KubernetesVersion,
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the fields that a mutation reads, and those that may get a default because of it."""
    found = Affected(schema, version)
    overlay = translator.overlays.get(each.index)
    if overlay is not None:
        found.overlay(overlay.tree, schema.root, existing=True)
        return read_by_overlay(overlay, schema.root, version), found.result()
    text = each.held["expression"]
    found.expression(each.kind.patch_type, text)
    return read_by(text, version), found.result()

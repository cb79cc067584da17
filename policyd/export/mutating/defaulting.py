"""Defaults that the API server sets between two mutations, and policyd does not.

A mutation that runs after another mutation, or a second time, could see them. It is refused if it
reads a field that may get its default because of what is written before.
"""

from collections.abc import Iterator

from policyd.export.model import Reason, shown_path
from policyd.export.mutating.affected import Affected
from policyd.export.mutating.mutations import MutationTranslator
from policyd.export.mutating.reads import ALL, read_by, read_by_overlay
from policyd.mutation.schemas.schemas import KindSchema
from policyd.policy.model.expressions import HeldMutation
from policyd.policy.model.kinds import Policy
from policyd.versions import KubernetesVersion


def affected_by_defaults(
    policy: Policy, translator: MutationTranslator, version: KubernetesVersion
) -> Iterator[Reason]:
    """Yield why a mutation may see a default that it does not see in policyd."""
    spec = policy.spec
    again = spec.reinvocation_policy == "IfNeeded"
    mutations = translator.mutations
    if len(mutations) < 2 and not again:
        return
    shared = {name for each in spec.variables for name in read_by(each.expression, version)}
    if again:
        for condition in spec.match_conditions:
            shared |= read_by(condition.expression, version)
    for schema in translator.kinds.schemas:
        written: set[str] = set()
        if again:
            for each in mutations:
                written |= _affected(each, schema, translator, version)
        for each in mutations:
            read = shared | _read(each, schema, translator, version)
            found = sorted(written if ALL in read else written & read)
            if found:
                yield Reason(
                    shown_path(each.path),
                    "it runs after a mutation, when the API server has set the defaults of new "
                    f"fields, and may see the default of {found[0]}",
                )
            written |= _affected(each, schema, translator, version)


def _affected(
    each: HeldMutation,
    schema: KindSchema,
    translator: MutationTranslator,
    version: KubernetesVersion,
) -> frozenset[str]:
    found = Affected(schema, version)
    overlay = translator.overlays.get(each.index)
    if overlay is not None:
        found.overlay(overlay.tree, schema.root, existing=True)
    else:
        found.expression(each.kind.patch_type, each.held["expression"])
    return found.result()


def _read(
    each: HeldMutation,
    schema: KindSchema,
    translator: MutationTranslator,
    version: KubernetesVersion,
) -> frozenset[str]:
    overlay = translator.overlays.get(each.index)
    if overlay is not None:
        return read_by_overlay(overlay, schema.root, version)
    return read_by(each.held["expression"], version)

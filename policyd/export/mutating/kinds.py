"""The kinds that a policy mutates, as far as they are known from its match rules."""

from dataclasses import dataclass

from policyd.export.model import Reason, shown_path
from policyd.mutation.schemas.schemas import KindSchema
from policyd.policy.compile.overlays import KnownKinds, named_resources
from policyd.policy.model.kinds import Policy


@dataclass(frozen=True, slots=True)
class MutatedKinds:
    """The schemas of the objects that mutations see, or why they are not known."""

    schemas: tuple[KindSchema, ...]
    reasons: tuple[Reason, ...] = ()


def mutated_kinds(policy: Policy, kinds: KnownKinds) -> MutatedKinds:
    """Return the kinds that the rules name; with ``podControllers``, controllers count as Pods."""
    found: dict[object, KindSchema] = {}
    reasons = []
    for path, _, resource, known in named_resources(policy, kinds):
        if known is None:
            text = "the kinds that the overlay has to fit are known only in requests"
            reasons.append(Reason(shown_path(path), text))
        elif not known:
            reasons.append(Reason(shown_path(path), f"no schema of {resource} is known"))
        found |= {each.gvk: each for each in known or ()}
    return MutatedKinds(tuple(found.values()), tuple(reasons))

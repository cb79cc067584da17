"""The kinds that a policy mutates, as far as they are known from its match rules."""

from dataclasses import dataclass

from policyd.export.model import Reason
from policyd.mutation.schemas.schemas import KindSchema
from policyd.policy.compile.overlays import KnownKinds
from policyd.policy.kinds.controllers import CONTROLLERS
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
    templates = CONTROLLERS if policy.spec.pod_controllers else {}
    for index, rule in enumerate(policy.spec.match_constraints.resource_rules):
        for number, resource in enumerate(rule.resources):
            path = f"spec.matchConstraints.resourceRules[{index}].resources[{number}]"
            if "*" in resource or "/" in resource or "*" in rule.api_groups:
                text = "the kinds that the overlay has to fit are known only in requests"
                reasons.append(Reason(path, text))
                continue
            for group in rule.api_groups:
                if templates.get(resource) == group:
                    continue
                served = kinds.versions(group, resource)
                named = served if "*" in rule.api_versions else rule.api_versions
                schemas = [kinds.of_resource(group, version, resource) for version in named]
                known = [each for each in schemas if each is not None]
                if not known:
                    reasons.append(Reason(path, f"no schema of {resource} is known"))
                found |= {each.gvk: each for each in known}
    return MutatedKinds(tuple(found.values()), tuple(reasons))

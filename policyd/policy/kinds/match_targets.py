"""Find the resources of a cluster that policies match, for a scan that lists their objects.

The core's matcher is called with a request that creates such an object; selectors and names are
ignored, as they depend on the object. Lists nothing itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from policyd._core.match.matcher import MatchInput, MatchRules
from policyd.json_types import JSONObject
from policyd.policy.kinds.controllers import controller_constraints
from policyd.policy.kinds.served_resource import Served, storage_of
from policyd.policy.model.kinds import AnyPolicy
from policyd.policy.model.match import covers
from policyd.policy.source.loaded_documents import Sources

PolicyKey = tuple[str, str]  # of a policy: name and kind, as ``CompiledPolicy.sort_key``
# Depth of ownership: owners are listed before the objects that they create.
_MADE = {"jobs": 1, "replicasets": 1, "replicationcontrollers": 1, "pods": 2}


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A resource to list, and the policies to evaluate for it in this version."""

    served: Served
    policies: frozenset[PolicyKey]


class MatchTargets:
    """The resources that the match rules of some policies name, podControllers included."""

    def __init__(self, sources: Sources, policies: Iterable[PolicyKey]) -> None:
        wanted = set(policies)
        self._rules: dict[PolicyKey, tuple[MatchRules, ...]] = {}
        for document in sources.documents:
            key, model = (document.name, document.kind), document.model
            if key not in wanted or not isinstance(model, AnyPolicy):
                continue
            constraints = model.spec.match_constraints.plain()
            given = [constraints]
            if getattr(model.spec, "pod_controllers", False):
                derived = controller_constraints(constraints)
                given += [derived] if derived["resourceRules"] else []
            self._rules[key] = tuple(map(_without_names, given))

    def names_group(self, group: str) -> bool:
        """Whether a match rule may match a resource of the API group."""
        return any(
            not each.rules or any(covers(rule.groups, group) for rule in each.rules)
            for rules in self._rules.values()
            for each in rules
        )

    def targets(self, served: Iterable[Served]) -> list[ListedResource]:
        """Return which of ``served`` to list, owners before the objects that they create.

        ``served`` has the preferred version of a resource first. A policy is evaluated in the first
        version that its match rules name, and only once for a resource served in two groups.
        """
        found_by: dict[Served, set[PolicyKey]] = {}
        known: set[tuple[PolicyKey, str, str]] = set()
        for each in served:
            thing = storage_of(each)
            view = _creation(each)
            for key, rules in self._rules.items():
                if (key, *thing) in known or all(rule.match(view) is None for rule in rules):
                    continue
                known.add((key, *thing))
                found_by.setdefault(each, set()).add(key)
        found = [ListedResource(each, frozenset(keys)) for each, keys in found_by.items()]
        return sorted(found, key=lambda target: _MADE.get(target.served.resource, 0))


def _without_names(constraints: JSONObject) -> MatchRules:
    """Compile the match rules without names and selectors, to match every object of a resource."""
    rules = constraints.get("resourceRules") or []
    excludes = constraints.get("excludeResourceRules") or []
    return MatchRules(
        [{**rule, "resourceNames": []} for rule in rules],
        [rule for rule in excludes if not rule.get("resourceNames")],
        match_policy="Exact",
    )


def _creation(served: Served) -> MatchInput:
    place = {"group": served.group, "version": served.version}
    kind, resource = {**place, "kind": served.kind}, {**place, "resource": served.resource}
    request = {
        "operation": "CREATE",
        "kind": kind,
        "requestKind": kind,
        "resource": resource,
        "requestResource": resource,
        "namespace": "any" if served.namespaced else "",
    }
    return MatchInput(request, lambda name: None)

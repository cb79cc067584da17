"""Resources with operations, as ``resourceRules``."""

from collections.abc import Iterable

from policyd.importers.kyverno.matching.kinds import MatchedResource
from policyd.json_types import JSONObject


def resource_rules(matched: Iterable[tuple[MatchedResource, tuple[str, ...]]]) -> list[JSONObject]:
    """Write match rules, one for all resources of the same groups, versions and operations."""
    rules: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for target, operations in matched:
        if operations:
            key = (target.groups, target.versions, operations)
            listed = rules.setdefault(key, [])
            listed += [each for each in target.resources if each not in listed]
    return [
        {
            "apiGroups": list(groups),
            "apiVersions": list(versions),
            "operations": list(operations),
            "resources": resources,
        }
        for (groups, versions, operations), resources in rules.items()
    ]

"""The rules of a webhook: targets, merged into the fewest rules that match the same requests."""

from collections.abc import Iterable
from dataclasses import replace

from policyd.json_types import JSONObject
from policyd.policy.model.match import OPERATIONS
from policyd.webhooks.needs.targets import ANY, RequestTarget, reduced

# The fields of a rule while rules are merged: each is a set of values.
_Rule = tuple[frozenset[str], ...]  # groups, versions, resources, operations, scope
_GROUPS, _VERSIONS, _RESOURCES, _OPERATIONS, _SCOPE = range(5)


def rules_of(targets: Iterable[RequestTarget]) -> list[JSONObject]:
    """Return the rules for these targets, sorted; webhook rules have no names."""
    rules: set[_Rule] = {
        tuple(
            frozenset({value})
            for value in (each.group, each.version, each.path, each.operation, each.scope)
        )
        for each in reduced(replace(target, names=()) for target in targets)
    }
    for field in (_OPERATIONS, _VERSIONS, _RESOURCES, _GROUPS):
        rules = _merged(rules, field)
    return [_written(rule) for rule in sorted(rules, key=lambda rule: list(map(sorted, rule)))]


def _merged(rules: Iterable[_Rule], field: int) -> set[_Rule]:
    """Merge the rules that differ only in one field."""
    joined: dict[_Rule, frozenset[str]] = {}
    for rule in rules:
        key = (*rule[:field], frozenset[str](), *rule[field + 1 :])
        joined[key] = joined.get(key, frozenset()) | rule[field]
    return {(*key[:field], values, *key[field + 1 :]) for key, values in joined.items()}


def _written(rule: _Rule) -> JSONObject:
    operations: list[str] = [each for each in OPERATIONS if each in rule[_OPERATIONS]]
    return {
        "apiGroups": sorted(rule[_GROUPS]),
        "apiVersions": sorted(rule[_VERSIONS]),
        "operations": [ANY] if len(operations) == len(OPERATIONS) else operations,
        "resources": sorted(rule[_RESOURCES]),
        "scope": next(iter(rule[_SCOPE])),
    }

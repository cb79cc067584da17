"""Read the matchConstraints of a broken policy as far as possible.

What cannot be read matches more, never less: the failurePolicy of the policy decides about every
request that it may be meant for. Of valid matchConstraints nothing is changed.
"""

from collections.abc import Callable

from policyd.json_types import JSON, JSONObject
from policyd.policy.checks.match import check_match_resources
from policyd.policy.model import names
from policyd.policy.model.base import ModelError
from policyd.policy.model.match import MatchResources

_EVERY = "*"
_OPERATIONS = frozenset((_EVERY, "CONNECT", "CREATE", "DELETE", "UPDATE"))
_SCOPES = frozenset((_EVERY, "Cluster", "Namespaced"))


def readable_constraints(raw: JSONObject) -> JSONObject | None:
    """Return the matchConstraints of a policy document as plain JSON.

    None if they are not an object, or have no resourceRules: nothing says what the policy matches.
    """
    spec = raw.get("spec")
    given = spec.get("matchConstraints") if isinstance(spec, dict) else None
    if not isinstance(given, dict):
        return None
    rules = _listed(given.get("resourceRules"))
    if not rules:
        return None
    excludes: list[JSON] = []
    for each in _listed(given.get("excludeResourceRules")):
        excludes += _listed(_valid("excludeResourceRules", [each]))
    return {
        "resourceRules": [_rule(each) for each in rules],
        "excludeResourceRules": excludes,
        "namespaceSelector": _valid("namespaceSelector", given.get("namespaceSelector")),
        "objectSelector": _valid("objectSelector", given.get("objectSelector")),
        "matchPolicy": "Exact" if given.get("matchPolicy") == "Exact" else "Equivalent",
    }


def _rule(given: JSON) -> JSONObject:
    """Return a resource rule, with a wildcard for each field that cannot be read."""
    rule = given if isinstance(given, dict) else {}
    scope = rule.get("scope")
    return {
        "apiGroups": _words(rule.get("apiGroups"), lambda _: True) or [_EVERY],
        "apiVersions": _words(rule.get("apiVersions")) or [_EVERY],
        "operations": _words(rule.get("operations"), _OPERATIONS.__contains__) or [_EVERY],
        "resources": _words(rule.get("resources")) or ["*/*"],
        "resourceNames": _words(rule.get("resourceNames"), _is_name),
        "scope": scope if isinstance(scope, str) and scope in _SCOPES else _EVERY,
    }


def _words(given: JSON, allowed: Callable[[str], bool] = bool) -> list[JSON]:
    """Return the strings of a field, a list or a single one; empty if one is not allowed."""
    words: list[JSON] = []
    for each in _listed(given):
        word = "" if each is None else each
        if not isinstance(word, str) or not allowed(word):
            return []
        words.append(word)
    return words


def _is_name(word: str) -> bool:
    return bool(word) and not any(names.path_segment(word))


def _listed(given: JSON) -> list[JSON]:
    """Return a list: an item whose dash is missing is a list of one."""
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def _valid(field: str, given: JSON) -> JSON:
    """Return the value of a field of MatchResources if it is valid, else None."""
    if given is None:
        return None
    try:
        found = MatchResources.validated({field: given})
    except ModelError:
        return None
    if any(check_match_resources(found, ())):
        return None
    value: JSON = found.plain()[field]
    return value

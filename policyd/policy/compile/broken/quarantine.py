"""Compile broken policies: requests that they may match follow their failurePolicy.

Unreadable parts of their matchConstraints match more, never less. Valid matchConstraints
are unchanged.
"""

from collections.abc import Callable, Iterable
from typing import get_args

from policyd._core.counting.counters import PolicyCounters
from policyd.errors import Problem
from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.checks.match import check_match_resources
from policyd.policy.compile.compiled import CompiledPolicy, PolicyKind
from policyd.policy.compile.match_rules import NOTHING, controller_rules, match_rules
from policyd.policy.model import names
from policyd.policy.model.base import ModelError
from policyd.policy.model.match import MatchResources, Operation, ScopeType
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document

_KINDS: dict[str, PolicyKind] = {kind: kind for kind in get_args(PolicyKind)}
_WEBHOOKS: dict[str, tuple[Webhook, ...]] = {
    "ValidatingAdmissionPolicy": ("validate",),
    "MutatingAdmissionPolicy": ("mutate",),
}
_VALIDATES = ("validations", "auditAnnotations")


def quarantined(
    document: Document, counters: PolicyCounters, problems: Iterable[Problem], *, bound: bool
) -> CompiledPolicy | None:
    """Return a policy that matches what the document may be meant to match, and has no other part.

    None if the document has no readable name or matchConstraints. A policy that is not ``bound``
    matches nothing, as it would if it were not broken.
    """
    constraints = readable_constraints(document.raw)
    if not document.name or constraints is None:
        return None
    if not bound:
        constraints = NOTHING
    controllers = document.spec.get("podControllers") not in (None, False)
    return CompiledPolicy(
        kind=_KINDS[document.kind],
        name=document.name,
        source=document.file,
        fail=document.failure_policy != "Ignore",
        rules=match_rules(constraints),
        controllers=controller_rules(constraints) if controllers else None,
        counters=counters,
        problem="; ".join(map(_shown, problems)) or "not usable",
        broken_at=_WEBHOOKS.get(document.kind) or _of_policy(document.spec),
    )


def _of_policy(spec: JSONObject) -> tuple[Webhook, ...]:
    """Return the webhooks of a Policy: also the mutating one, unless it surely only validates."""
    validates = "mutations" not in spec and any(field in spec for field in _VALIDATES)
    return ("validate",) if validates else ("mutate", "validate")


def _shown(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message


_EVERY = "*"
_OPERATIONS, _SCOPES = get_args(Operation), get_args(ScopeType)


def readable_constraints(raw: JSONObject) -> JSONObject | None:
    """Return the matchConstraints of a policy document as plain JSON.

    None if they are not an object, or have no resourceRules: nothing says what the policy matches.
    """
    given = object_in(raw, "spec").get("matchConstraints")
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
    rule = object_in(given)
    scope = rule.get("scope")
    return {
        "apiGroups": _words(rule.get("apiGroups"), lambda _: True) or [_EVERY],
        "apiVersions": _words(rule.get("apiVersions")) or [_EVERY],
        "operations": _words(rule.get("operations"), _OPERATIONS.__contains__) or [_EVERY],
        "resources": _words(rule.get("resources")) or ["*/*"],
        "resourceNames": _words(
            rule.get("resourceNames"), lambda word: bool(word) and not any(names.path_segment(word))
        ),
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

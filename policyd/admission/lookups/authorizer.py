"""Authorizers for the CEL variable ``authorizer``: the protocol, and a static table.

Queries no cluster; a higher layer passes an authorizer that does to the engine.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.json_types import JSON
from policyd.policy.model.suite import AuthorizerRule

__all__ = [
    "AccessDecision",
    "Attributes",
    "Authorizer",
    "AuthorizerRule",
    "Failure",
    "StaticAuthorizer",
]


class Authorizer(Protocol):
    """Decides without waiting: evaluations call it midway."""

    def check(self, attributes: Attributes) -> AccessDecision | Failure | None:
        """Return the decision. A Failure means there is none: an evaluation error, handled by the
        policy's failurePolicy. None means not known yet: the caller looks it up if it can, else it
        is an evaluation error.
        """


class StaticAuthorizer:
    """Decides from a table, for tests, suites and offline commands.

    The first rule that matches decides; without one, the access is not allowed. A rule is a dict of
    the form used under ``authorizer`` in a PolicyTest:
    ``{"user": "bob", "verb": "create", "resource": "pods"}``. Its keys are user, groups, verb,
    path, group, resource, subresource, namespace and name, which match anything when left out, and
    allowed (default true), reason and error. Raises ValueError for any other key.
    """

    def __init__(self, rules: Iterable[AuthorizerRule | Mapping[str, JSON]]) -> None:
        self._rules = tuple(
            rule if isinstance(rule, AuthorizerRule) else AuthorizerRule.validated(dict(rule))
            for rule in rules
        )

    def __repr__(self) -> str:
        return f"<StaticAuthorizer of {len(self._rules)} rules>"

    def check(self, attributes: Attributes) -> AccessDecision:
        """Return the decision of the first rule that matches."""
        for rule in self._rules:
            if _fits(rule, attributes):
                return AccessDecision(rule.allowed and not rule.error, rule.reason, rule.error)
        return AccessDecision(allowed=False)


def _fits(rule: AuthorizerRule, check: Attributes) -> bool:
    """Whether a rule matches. An omitted key matches anything except subresources."""
    subresource = rule.subresource
    if subresource is None and rule.resource is not None:
        subresource = ""
    if rule.groups is not None and not set(rule.groups) & set(check.groups):
        return False
    return all(
        wanted is None or wanted == found
        for wanted, found in (
            (rule.user, check.user),
            (rule.verb, check.verb),
            (rule.path, check.path),
            (rule.group, check.group),
            (rule.resource, check.resource),
            (subresource, check.subresource),
            (rule.namespace, check.namespace),
            (rule.name, check.name),
        )
    ) and not (check.path and rule.is_about_resources)

"""Who answers the ``authorizer`` of expressions: the protocol, and answers from a table.

Queries no cluster: what does stands above, and is handed to the engine.
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
    """Answers from what it knows at once: it is called in the middle of an evaluation."""

    def check(self, attributes: Attributes) -> AccessDecision | Failure | None:
        """The decision, or a Failure where there is none: an evaluation error, which the policy's
        failurePolicy decides. None if it is not known yet: it is then looked up where the caller
        can do so, and an evaluation error elsewhere.
        """


class StaticAuthorizer:
    """Answers from a table, for tests, suites and commands that work offline.

    The first rule that fits decides; where none does, it is not allowed. A rule is a dict of the
    form that a PolicyTest has under ``authorizer``:
    ``{"user": "bob", "verb": "create", "resource": "pods"}``. Its keys are user, groups, verb,
    path, group, resource, subresource, namespace and name, which fit anything when left out, and
    allowed (default true), reason and error. Raises ValueError for any other.
    """

    def __init__(self, rules: Iterable[AuthorizerRule | Mapping[str, JSON]]) -> None:
        self._rules = tuple(
            rule if isinstance(rule, AuthorizerRule) else AuthorizerRule.model_validate(dict(rule))
            for rule in rules
        )

    def __repr__(self) -> str:
        return f"<StaticAuthorizer of {len(self._rules)} rules>"

    def check(self, attributes: Attributes) -> AccessDecision:
        """The decision of the first rule that fits."""
        for rule in self._rules:
            if _fits(rule, attributes):
                return AccessDecision(rule.allowed and not rule.error, rule.reason, rule.error)
        return AccessDecision(allowed=False)


def _fits(rule: AuthorizerRule, check: Attributes) -> bool:
    """What a rule leaves out fits anything, but a resource's rule is not for its subresources."""
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

"""Advice on validations without a message, and on validations of CREATE that an UPDATE can bypass.

Expressions themselves are checked elsewhere (``type_check``, ``unguarded``, ``constant``).
"""

import re
from collections.abc import Iterator, Sequence

from policyd.policy.kinds.served import Resources
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.expressions import VALIDATION, VARIABLE
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.match import NamedRuleWithOperations, covers

# Resources whose spec is immutable.
_SETTLED = frozenset(
    {
        ("apps", "controllerrevisions"),
        ("batch", "jobs"),
        ("certificates.k8s.io", "certificatesigningrequests"),
        ("scheduling.k8s.io", "priorityclasses"),
        ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"),
    }
)
_OBJECT = re.compile(r"\bobject\b")
# The variables of Kyverno, shells and overlays, and a string of CEL with a plus behind it.
_TEMPLATE = re.compile(r"\{\{|\$\{|\$\(|^'[^']*' \+ ")


def advise_validations(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy that validates."""
    for index, validation in enumerate(policy.validations):
        # A pattern has its own message.
        if validation.expression and not validation.message and not validation.message_expression:
            yield FormProblem(
                ("spec", "validations", index),
                "no message: users will see the raw expression when they are denied",
                "add message or messageExpression: what is wrong, and how to fix it",
                rule="missing-message",
            )
        if _TEMPLATE.search(validation.message):
            yield FormProblem(
                ("spec", "validations", index, "message"),
                "users will see this as it is written: a message is not evaluated",
                "write messageExpression: \"'… ' + object.metadata.name\"",
                rule="literal-message",
            )
    texts = (each.text for each in policy.of_role(VARIABLE, VALIDATION))
    if policy.validations and (any(map(_OBJECT.search, texts)) or policy.patterns):
        yield from _updates(policy.rules, policy.run.resources)


def _updates(rules: Sequence[NamedRuleWithOperations], known: Resources) -> Iterator[FormProblem]:
    for index, rule in enumerate(rules):
        if "CREATE" not in rule.operations or "UPDATE" in rule.operations:
            continue
        groups = {"*", *rule.api_groups}
        covered = {
            resource
            for other in rules
            if covers(other.operations, "UPDATE") and groups & {*other.api_groups}
            for resource in rule.resources
            if covers(other.resources, resource)
        }
        open_ = [each for each in rule.resources if _can_be_changed(rule, each, known)]
        left = [each for each in open_ if each not in covered]
        if left:
            yield FormProblem(
                ("spec", "matchConstraints", "resourceRules", index, "operations"),
                f"UPDATE of {', '.join(left)} is not covered: a value denied at creation can be "  # noqa: S608 - no SQL
                "set later by an update",
                "add UPDATE, or disable this rule and give the reason",
                rule="missing-update",
            )


def _can_be_changed(rule: NamedRuleWithOperations, resource: str, known: Resources) -> bool:
    if "/" in resource:
        return False
    homes = [(group, resource) for group in rule.api_groups]
    if all(home in _SETTLED for home in homes):
        return False
    found = [known[home] for home in homes if home in known]
    return not found or any("UPDATE" in each.operations for each in found)

"""Advice on fields of a policy that no operation of its match rules reaches: pod controllers and
mutations are for CREATE and UPDATE only.
"""

from collections.abc import Iterator

from policyd.policy.kinds.controllers import controller_rules
from policyd.policy.kinds.subresources import subresources_matched
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.model.findings import FormProblem

RULE = "idle-field"
_CHANGES = frozenset({"CREATE", "UPDATE", "*"})


def unreached(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the fields of a policy that have no effect."""
    controllers = policy.own is not None and policy.own.pod_controllers
    if controllers and not controller_rules(rule.plain() for rule in policy.rules):
        yield FormProblem(
            ("spec", "podControllers"),
            "podControllers has no effect: controllers are matched on CREATE and UPDATE, which no "
            "rule for pods has",
            "remove it, or add CREATE or UPDATE; to check a DELETE of controllers, add their "
            "resources to the rule",
            at_key=True,
            rule=RULE,
        )
    operations = {
        operation
        for rule, resource, _ in policy.named_resources
        for each in subresources_matched(resource, rule.operations)
        for operation in (rule.operations if each is None else (each.operation,))
    }
    if policy.mutations and operations and operations.isdisjoint(_CHANGES):
        yield FormProblem(
            ("spec", "mutations"),
            "mutations have no effect: DELETE and CONNECT are not mutated",
            "match CREATE or UPDATE",
            at_key=True,
            rule=RULE,
        )

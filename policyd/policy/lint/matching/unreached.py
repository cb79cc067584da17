"""Advice on fields of a policy that no operation of its match rules reaches: pod controllers and
mutations are for CREATE and UPDATE only.
"""

from collections.abc import Iterator

from policyd.errors import Problem
from policyd.policy.kinds.controllers import controller_rules
from policyd.policy.kinds.subresources import subresources_named
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import AnyPolicy, Policy, ValidatingAdmissionPolicy
from policyd.policy.model.match import NamedRuleWithOperations, covers

RULE = "idle-field"
_CHANGES = frozenset({"CREATE", "UPDATE", "*"})


def unreached(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all policies, in file order."""
    for document, policy in run.policies():
        for finding in _findings(policy):
            yield document.problem(finding, "advice")


def _findings(policy: AnyPolicy) -> Iterator[FormProblem]:
    rules = policy.spec.match_constraints.resource_rules
    controllers = isinstance(policy, Policy) and policy.spec.pod_controllers
    if controllers and not controller_rules(rule.plain() for rule in rules):
        yield FormProblem(
            ("spec", "podControllers"),
            "podControllers has no effect: controllers are matched on CREATE and UPDATE, which no "
            "rule for pods has",
            "remove it, or add CREATE or UPDATE; to check a DELETE of controllers, add their "
            "resources to the rule",
            at_key=True,
            rule=RULE,
        )
    if isinstance(policy, ValidatingAdmissionPolicy) or not policy.spec.mutations:
        return
    operations = {each for rule in rules for each in _operations(rule)}
    if operations and operations.isdisjoint(_CHANGES):
        yield FormProblem(
            ("spec", "mutations"),
            "mutations have no effect: DELETE and CONNECT are not mutated",
            "match CREATE or UPDATE",
            at_key=True,
            rule=RULE,
        )


def _operations(rule: NamedRuleWithOperations) -> Iterator[str]:
    """Yield the operations of the requests that a rule matches."""
    for resource in rule.resources:
        subresources = list(subresources_named(resource))
        if not subresources:
            yield from rule.operations
        for each in subresources:
            if covers(rule.operations, each.operation):
                yield each.operation

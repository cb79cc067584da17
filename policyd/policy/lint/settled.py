"""Advice on conditions that the rules settle: false for every kind and operation that they name, so
that the policy never acts, or true for all, so that a validation never refuses.

What is the same for all requests of any kind is told by ``constant``.
"""

from collections.abc import Iterator

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import Problem
from policyd.policy.lint.constant import RULE
from policyd.policy.lint.guards.cases import cases
from policyd.policy.lint.guards.known import Case
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import Checkable, KindTypes, TypedPolicies
from policyd.policy.model.expressions import CONDITION, VALIDATION
from policyd.policy.model.findings import Finding

_NOTHING = Case({}, {}, lambda place: False)


def settled(run: LintRun) -> list[Problem]:
    """The advice for all policies, in file order."""
    with deep_recursion():
        return [
            document.problem(finding, "advice")
            for document in run.sources.documents
            if isinstance(document.model, Checkable)
            for finding in _of_policy(document.model, run.typed)
        ]


def _of_policy(policy: Checkable, typed: TypedPolicies) -> Iterator[Finding]:
    every = list(cases(policy, typed))
    conditions = [each for each in typed.expressions(policy) if each.role is CONDITION]
    for condition in conditions:
        if every and all(_outcome(condition.text, *case) is False for case in every):
            message = "is false for all kinds and operations of the rules: the policy never acts"
            yield Finding(condition.path, message, "correct it, or the rules", rule=RULE)
            return
    left = [
        case
        for case in every
        if not any(_outcome(condition.text, *case) is False for condition in conditions)
    ]
    for each in typed.expressions(policy):
        settles = each.role is VALIDATION and left
        if settles and all(_outcome(each.text, *case) is True for case in left):
            message = "is true for all kinds and operations of the rules: nothing is refused"
            yield Finding(each.path, message, "correct it, or the rules", rule=RULE)


def _outcome(text: str, types: KindTypes, case: Case) -> bool | None:
    """What kind and operation make of a condition, if it takes them to know."""
    checked = types.checked(text)
    if checked is None or _NOTHING.decide(checked.expr) is not None:
        return None
    return case.decide(checked.expr)

"""Advice on conditions that the match rules decide: false for every kind and operation that they
name, so the policy never acts, or true for all, so a validation never denies.

Conditions with one value for all requests of any kind are reported by ``constant``.
"""

from collections.abc import Iterator

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import Problem
from policyd.policy.lint.constant import RULE
from policyd.policy.lint.guards.cases import cases
from policyd.policy.lint.guards.known import RequestCase
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import Checkable, KindTypes, TypedPolicies
from policyd.policy.model.expressions import CONDITION, VALIDATION
from policyd.policy.model.findings import FormProblem

_NOTHING = RequestCase({}, {}, lambda place: False)


def settled(run: LintRun) -> list[Problem]:
    """Return the advice for all policies, in file order."""
    with deep_recursion():
        return [
            document.problem(finding, "advice")
            for document in run.sources.documents
            if isinstance(document.model, Checkable)
            for finding in _of_policy(document.model, run.typed)
        ]


def _of_policy(policy: Checkable, typed: TypedPolicies) -> Iterator[FormProblem]:
    every = list(cases(policy, typed))
    conditions = [each for each in typed.expressions(policy) if each.role is CONDITION]
    for condition in conditions:
        if every and all(_outcome(condition.text, *case) is False for case in every):
            message = (
                "always false for the kinds and operations this policy matches, so it never acts"
            )
            hint = "correct the condition or the resourceRules"
            yield FormProblem(condition.path, message, hint, rule=RULE)
            return
    left = [
        case
        for case in every
        if not any(_outcome(condition.text, *case) is False for condition in conditions)
    ]
    for each in typed.expressions(policy):
        settles = each.role is VALIDATION and left
        if settles and all(_outcome(each.text, *case) is True for case in left):
            message = (
                "always true for the kinds and operations this policy matches, so it never denies"
            )
            hint = "correct the validation or the resourceRules"
            yield FormProblem(each.path, message, hint, rule=RULE)


def _outcome(text: str, types: KindTypes, case: RequestCase) -> bool | None:
    """Return the value of a condition, if the kind and operation decide it."""
    checked = types.checked(text)
    if checked is None or _NOTHING.decide(checked.expr) is not None:
        return None
    return case.decide(checked.expr)

"""Advice on conditions and validations that the match rules decide: they have the same value for
every kind and operation that these name.

Conditions with one value for all requests of any kind are reported by ``constant``.
"""

from collections.abc import Iterator, Mapping

from policyd._core.eval.layout import Layout
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked, Literal
from policyd.cel.syntax.recursion import nodes
from policyd.errors import BudgetExceeded, CelCompileError, Problem
from policyd.policy.lint.guards.cases import cases
from policyd.policy.lint.guards.field_presence import RequestCase
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.model.expressions import CONDITION, VALIDATION, PolicyExpression
from policyd.policy.model.findings import FormProblem

# The consequence of a condition or validation that is always true or false, and the remedy.
_CONDITIONS = {
    False: ("never acts", "correct the condition or the resourceRules"),
    True: ("has no effect", "remove the condition, or correct it or the resourceRules"),
}
_VALIDATIONS = {
    False: (
        "denies every request",
        "correct the validation or the resourceRules, or write false if this is intended",
    ),
    True: ("never denies", "correct the validation or the resourceRules"),
}
_NOTHING = RequestCase({}, {}, lambda place: False)


def settled(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the conditions and validations that the match rules decide."""
    every = list(cases(policy))
    conditions = policy.of_role(CONDITION)
    outcomes = {each.path: _settled_outcome(each.text, every) for each in conditions}
    for condition in conditions:
        outcome = outcomes[condition.path]
        if outcome is not None:
            yield _finding(condition, outcome, _CONDITIONS)
    if False in outcomes.values():
        return
    left = [
        case
        for case in every
        if not any(_outcome(condition.text, *case) is False for condition in conditions)
    ]
    for each in policy.of_role(VALIDATION):
        outcome = _settled_outcome(each.text, left)
        if outcome is not None:
            yield _finding(each, outcome, _VALIDATIONS)


def _finding(
    each: PolicyExpression, outcome: bool, consequences: Mapping[bool, tuple[str, str]]
) -> FormProblem:
    consequence, hint = consequences[outcome]
    always = f"always {str(outcome).lower()} for the kinds and operations this policy matches"
    return FormProblem(each.path, f"{always}, so it {consequence}", hint, rule=RULE)


def _settled_outcome(text: str, subjects: list[tuple[KindTypes, RequestCase]]) -> bool | None:
    """Return the value of a condition, if it is the same for all kinds and operations."""
    outcomes = {_outcome(text, *case) for case in subjects}
    return outcomes.pop() if len(outcomes) == 1 else None


def _outcome(text: str, types: KindTypes, case: RequestCase) -> bool | None:
    """Return the value of a condition, if the kind and operation decide it."""
    checked = types.checked(text)
    if checked is None or _NOTHING.decide(checked.expr) is not None:
        return None
    return case.decide(checked.expr)


RULE = "constant-expression"


def constant(policy: LintedPolicy) -> Iterator[Problem]:
    """Yield the advice for all expressions, in order. The literals true and false are intended."""
    for expression, checked in policy.compiled:
        known = expression.role in (CONDITION, VALIDATION)
        outcome = outcome_of(checked) if known else None
        if outcome is not None:
            word = str(outcome).lower()
            message = f"is always {word} and does not depend on the request"
            hint = _uninterpolated(checked) or f"write {word} if this is intended"
            yield policy.document.advice(expression.at, RULE, message, hint)


def _uninterpolated(checked: Checked) -> str:
    """Return the remedy for ``${object.x}`` in a string, which other languages replace."""
    texts = (str(node.value) for node in nodes(checked.expr) if isinstance(node, Literal))
    for _, opened, rest in (text.partition("${") for text in texts):
        inner = rest.partition("}")[0].strip()
        if opened and inner:
            return f"nothing is replaced in a string: write {inner} without quotes"
    return ""


def outcome_of(checked: Checked) -> bool | None:
    """Return the value of an expression for every request; None if it depends on the request.

    It is evaluated without variables: each use of a variable is an error, so a value that remains
    does not depend on any.
    """
    if isinstance(checked.expr, Literal):
        return None
    try:
        value, _ = plan(checked, Layout()).evaluate_with_cost({})
    except (CelCompileError, BudgetExceeded):
        return None
    return value if isinstance(value, bool) else None

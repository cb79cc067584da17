"""Advice on conditions that use the request but have the same value for all requests."""

from policyd._core.eval.layout import Layout
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked, Literal
from policyd.errors import BudgetExceeded, CelCompileError, Problem
from policyd.policy.lint.run import LintRun
from policyd.policy.model.expressions import CONDITION, VALIDATION
from policyd.policy.source.loaded_documents import Document

RULE = "constant-expression"


def constant(run: LintRun) -> list[Problem]:
    """Return the advice for all expressions, in order. The literals true and false are intended."""
    return [
        _problem(document, expression.at, outcome)
        for document, expression, checked in run.expressions
        if expression.role in (CONDITION, VALIDATION)
        and (outcome := outcome_of(checked)) is not None
    ]


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


def _problem(document: Document, path: str, outcome: bool) -> Problem:
    found = Problem(
        f"is always {str(outcome).lower()} and does not depend on the request",
        hint=f"write {str(outcome).lower()} if this is intended",
        rule=RULE,
        severity="advice",
    )
    return document.placed(found, path)

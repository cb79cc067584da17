"""Advice on conditions that look at the request and are the same for all requests."""

from policyd._core.eval.layout import Layout
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked, Literal
from policyd.errors import BudgetExceeded, CelCompileError, Problem
from policyd.policy.lint.run import LintRun
from policyd.policy.model.expressions import CONDITION, VALIDATION
from policyd.policy.source.documents import Document

RULE = "constant-expression"


def constant(run: LintRun) -> list[Problem]:
    """The advice for all expressions, in their order. A mere ``true`` or ``false`` is meant so."""
    return [
        _problem(document, expression.at, outcome)
        for document, expression, checked in run.expressions
        if expression.role in (CONDITION, VALIDATION)
        and (outcome := outcome_of(checked)) is not None
    ]


def outcome_of(checked: Checked) -> bool | None:
    """What an expression says of every request; None where that depends on the request.

    Without variables each use of one is an error, which only what does not need it survives.
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
        f"is always {str(outcome).lower()}, whatever the request",
        hint=f"write {str(outcome).lower()} if that is meant",
        rule=RULE,
        severity="advice",
    )
    return document.placed(found, path)

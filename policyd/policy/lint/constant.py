"""Advice on conditions that use the request but have the same value for all requests."""

from collections.abc import Iterator

from policyd._core.eval.layout import Layout
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked, Literal
from policyd.cel.syntax.recursion import nodes
from policyd.errors import BudgetExceeded, CelCompileError, Problem
from policyd.policy.lint.run import LintRun
from policyd.policy.model.expressions import CONDITION, VALIDATION

RULE = "constant-expression"


def constant(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all expressions, in order. The literals true and false are intended."""
    for document, expression, checked in run.expressions:
        known = expression.role in (CONDITION, VALIDATION)
        outcome = outcome_of(checked) if known else None
        if outcome is not None:
            word = str(outcome).lower()
            message = f"is always {word} and does not depend on the request"
            hint = _uninterpolated(checked) or f"write {word} if this is intended"
            yield document.advice(expression.at, RULE, message, hint)


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

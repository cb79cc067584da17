"""Advice on expressions that may cost more than one evaluation is allowed.

The cost is estimated for an object in which every list, map and text has ``ASSUMED`` parts: large,
not impossible. What is above the limit then ends, for such objects, as an error. What a variable
costs stands with it, not with its uses.
"""

from policyd._core.eval.estimates import CALL_LIMIT, Range
from policyd.cel.estimate.cost import estimate
from policyd.cel.estimate.sizes import assumed
from policyd.errors import Problem
from policyd.policy.lint.run import LintRun
from policyd.policy.source.documents import Document

RULE = "expensive-expression"
ASSUMED = 100


def expensive(run: LintRun) -> list[Problem]:
    """The advice for all expressions, in their order."""
    found: list[Problem] = []
    for document, expression, checked in run.expressions:
        cost = estimate(checked, assumed(ASSUMED), dyn_fields=True)
        if cost.max > CALL_LIMIT:
            found.append(_problem(document, expression.at, cost))
    return found


def _problem(document: Document, path: str, cost: Range) -> Problem:
    found = Problem(
        f"may cost {cost.max:,} units where lists, maps and texts have {ASSUMED} parts; "
        f"at {CALL_LIMIT:,} an evaluation ends with an error",
        hint="avoid lists within lists; match patterns and ask the authorizer outside of loops",
        rule=RULE,
        severity="advice",
    )
    return document.placed(found, path)

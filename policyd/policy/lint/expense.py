"""Advice on expressions that may exceed the cost limit of an evaluation.

The cost is estimated for an object in which every list, map and string has ``ASSUMED`` parts, which
is large but possible. Above the limit, the evaluation fails for such an object. The cost of a
variable is reported at the variable, not at its uses. An estimate without a bound says nothing:
cel-go's estimate of ``lists.range(n)`` has none.
"""

from collections.abc import Iterator

from policyd._core.eval.estimates import CALL_LIMIT, MOST
from policyd.cel.estimate.cost import estimate
from policyd.cel.estimate.sizes import assumed
from policyd.errors import Problem
from policyd.policy.lint.run import LintedPolicy

RULE = "expensive-expression"
ASSUMED = 100


def expensive(policy: LintedPolicy) -> Iterator[Problem]:
    """Yield the advice for all expressions, in order."""
    for expression, checked in policy.compiled:
        cost = estimate(checked, assumed(ASSUMED), dyn_fields=True)
        if CALL_LIMIT < cost.max < MOST:
            message = (
                f"may cost {cost.max:,} units if lists, maps and strings have {ASSUMED} parts; "
                f"above {CALL_LIMIT:,} units the evaluation fails"
            )
            hint = (
                "avoid nested lists; evaluate regular expressions and authorizer checks outside"
                " loops"
            )
            yield policy.document.advice(expression.at, RULE, message, hint)

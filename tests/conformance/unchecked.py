"""Programs of expressions that Kubernetes refuses, such as literals of mixed types: cel-go's tests do
not check their expressions. No tests here.
"""

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd.cel.check.checker import check_all
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.parser import parse


def plan_unchecked(text: str) -> Program:
    """All errors of the checker are ignored."""
    return plan(check_all(text, parse(text), Environment.kubernetes().scope())[0], Layout())

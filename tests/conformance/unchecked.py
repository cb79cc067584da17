"""Programs of expressions that were only parsed: all overloads are chosen at run time. No tests here."""

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd.cel.plan.nesting import nesting
from policyd.cel.plan.planner import Planner, rereads, since_1_38
from policyd.cel.syntax.ast import Expr
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.types.types import DYN
from policyd.versions import NEWEST


def plan_unchecked(text: str, expr: Expr, layout: Layout) -> Program:
    """Kubernetes checks every expression; cel-go's tests do not."""
    planner = Planner(layout, {}, {}, fold=True, version=NEWEST)
    with deep_recursion():
        root = planner.node(expr)
        levels = nesting(expr, {}, layout.nesting)
    before, since = rereads(NEWEST), since_1_38(NEWEST)
    return Program(text, root, layout, DYN, before, levels, since_1_38=since)

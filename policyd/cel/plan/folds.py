"""Folds: plan the node of an expanded macro, recognised by its shape."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from policyd._core.eval.access import Chain
from policyd._core.eval.folds import AllNode, Bind, Collect, CollectMap, ExistsNode, ExistsOneNode
from policyd._core.eval.layout import Layout
from policyd._core.eval.nodes import Const, Node
from policyd.cel.plan.attributes import BoundBase, SlotBase
from policyd.cel.syntax.ast import Call, Comprehension, Expr, ListExpr, Literal, MapExpr

FoldSlots = dict[str, SlotBase | BoundBase]
ONE_VARIABLE = -1
# The cost of creating a list and a map in cel-go.
LIST_COST = 10
MAP_COST = 30
# The nodes of the loops that end early, by the operator between their rounds.
_JOINED: Mapping[str, type[AllNode] | type[ExistsNode]] = {"_&&_": AllNode, "_||_": ExistsNode}


class PartPlanner(Protocol):
    """Plans the parts of a fold, which may be folds again."""

    layout: Layout
    folds: bool  # whether constants are folded

    def node(self, expr: Expr) -> Node:
        """Return the node of an expression."""

    def in_round(
        self, expr: Expr, over: tuple[Node, int, int], *, begins: bool, notable: bool | None = None
    ) -> Node:
        """Return the node evaluated in each round of a fold ``over`` (range, slots). ``begins``: it
        begins the round. ``notable`` is the result of a round that stands out.
        """

    def scope(self, names: FoldSlots) -> AbstractContextManager[None]:
        """Make ``names`` visible to expressions within the context."""


def plan_fold(planner: PartPlanner, expr: Comprehension) -> Node:
    """Return the node of a macro: ``all``, ``exists``, ``exists_one``, ``map``, ``filter``,
    ``transform…``, or the name binding in optMap, optFlatMap and sortBy.
    """
    if isinstance(expr.loop_condition, Literal) and expr.loop_condition.value is False:
        return _bind(planner, expr)
    ranging = planner.node(expr.iter_range)
    slot = planner.layout.take()
    second = planner.layout.take() if expr.iter_var2 else ONE_VARIABLE
    names: FoldSlots = {expr.iter_var: SlotBase(slot, expr.iter_var)}
    if expr.iter_var2:
        names[expr.iter_var2] = SlotBase(second, expr.iter_var2)
    with planner.scope(names):
        return _loop(planner, expr, (ranging, slot, second))


def _loop(planner: PartPlanner, expr: Comprehension, over: tuple[Node, int, int]) -> Node:
    init, change = expr.accu_init, expr.loop_step
    if isinstance(init, Literal) and isinstance(change, Call):
        if change.function == "_?_:_":
            test = planner.in_round(change.args[0], over, begins=True, notable=True)
            return ExistsOneNode(*over, test)
        joined = _JOINED.get(change.function)
        if joined is not None and isinstance(init.value, bool):
            return joined(*over, planner.in_round(change.args[1], over, begins=True))
    only, step = _step(expr.loop_step)
    condition = None if only is None else planner.in_round(only, over, begins=True)
    begins = condition is None
    if isinstance(expr.accu_init, ListExpr):
        match step.args:
            case _, ListExpr(elements=(element,)):
                body = planner.in_round(element, over, begins=begins)
                constant = isinstance(body, Const) and planner.folds
                return _charged(planner, Collect(*over, body, condition, constant), LIST_COST)
    if isinstance(expr.accu_init, MapExpr):
        body = planner.in_round(step.args[-1], over, begins=begins)
        made = CollectMap(*over, body, condition, len(step.args) == 2)
        return _charged(planner, made, MAP_COST)
    raise TypeError(f"a fold of unknown shape: {expr.macro}")


def _step(step: Expr) -> tuple[Expr | None, Call]:
    """Return the condition of a step ``condition ? change : accu``, and the change."""
    if isinstance(step, Call):
        if step.function != "_?_:_":
            return None, step
        test, change, _ = step.args
        if isinstance(change, Call):
            return test, change
    raise TypeError(f"not the step of a fold: {step!r}")


def _bind(planner: PartPlanner, expr: Comprehension) -> Node:
    """Plan a fold over an empty list: its result, with the accumulator at its initial value."""
    slot = planner.layout.take()
    with planner.scope({expr.accu_var: BoundBase(slot, planner.node(expr.accu_init))}):
        planner.node(expr.loop_step)  # never runs, but an error here rejects the program
        return _charged(planner, Bind(slot, planner.node(expr.result)), LIST_COST)


def _charged(planner: PartPlanner, made: Node, units: int) -> Node:
    """Add the cost of the initial empty list or map, unless constants are folded."""
    return made if planner.folds else Chain(made, (), units)

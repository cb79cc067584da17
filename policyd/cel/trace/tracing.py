"""Plan programs that record the value of each part of their expression, to explain results. The
programs that serve requests record nothing.

Values and costs are the same as in the untraced program: constants stay folded (they are not
evaluated and not recorded; ``TracedExpression.constants`` has their values), a chain of selects is
split into its steps, and every other node is wrapped. Only the moment of charging a chain differs,
which shows where a cost limit ends an evaluation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from policyd._core.eval.access import Chain, ChainStep
from policyd._core.eval.layout import Layout
from policyd._core.eval.nodes import Const, Node
from policyd._core.eval.program import Program
from policyd._core.eval.tracing import RoundTrace, Trace, Tracer
from policyd._core.values.types import MISSING
from policyd.cel.plan.attributes import Attribute, Base, NodeBase, base_node
from policyd.cel.plan.nesting import nesting
from policyd.cel.plan.planner import Planner, rereads, since_1_38
from policyd.cel.syntax.ast import Checked, Expr
from policyd.cel.syntax.recursion import deep_recursion


@dataclass(frozen=True, slots=True, eq=False)
class TracedExpression:
    """The expression that records refer to, with the values of its constant parts by id.

    ``label`` is its place (``spec.validations[0].expression``); ``variable`` the name if it defines
    ``variables.NAME``.
    """

    checked: Checked
    label: str = ""
    variable: str = ""
    constants: dict[int, object] = field(default_factory=dict)


def plan_traced(
    checked: Checked, layout: Layout, tracer: Tracer, *, label: str = "", variable: str = ""
) -> Program:
    """Run ``planner.plan`` for a program whose evaluations ``tracer`` collects."""
    expression = TracedExpression(checked, label, variable)
    planner = _TracingPlanner(layout, expression, tracer)
    with deep_recursion():
        root = planner.node(checked.expr)
        if isinstance(root, Const):
            root = Trace(root, tracer, expression, checked.expr.id)
        levels = nesting(checked.expr, checked.types, layout.nesting)
    before, since = rereads(checked.version), since_1_38(checked.version)
    return Program(
        checked.text, root, layout, checked.result_type, before, levels, since_1_38=since
    )


class _TracingPlanner(Planner):
    """Wraps each node that the planner makes. Constants stay bare, so that the planner can still
    optimise them.
    """

    def __init__(self, layout: Layout, expression: TracedExpression, tracer: Tracer) -> None:
        checked = expression.checked
        super().__init__(
            layout, checked.types, checked.references, fold=True, version=checked.version
        )
        self.expression = expression
        self.tracer = tracer

    def in_round(
        self, expr: Expr, over: tuple[Node, int, int], *, begins: bool, notable: bool | None = None
    ) -> Node:
        node = self.node(expr)
        if isinstance(node, Const):
            return node
        _, slot, second = over
        wanted = MISSING if notable is None else notable
        return RoundTrace(node, self.tracer, slot, second, begins, wanted)

    def trace(self, node: Node, node_id: int) -> Node:
        """Return the node, recorded as the part ``node_id``; a constant unchanged."""
        if isinstance(node, Const):
            self.expression.constants[node_id] = node.value
            return node
        return Trace(node, self.tracer, self.expression, node_id)

    def _plan(self, expr: Expr) -> Node | Attribute:
        planned = Planner._plan(self, expr)
        if isinstance(planned, Attribute):
            marks = planned.marks if isinstance(planned, _TracedAttribute) else {}
            marks = {**marks, len(planned.steps): expr.id}
            return _TracedAttribute(planned.base, planned.steps, self, marks)
        return self.trace(planned, expr.id)


class _TracedAttribute(Attribute):
    """A chain with one node per step; ``marks`` has the part that each number of steps forms."""

    def __init__(
        self,
        base: Base,
        steps: tuple[ChainStep, ...],
        planner: _TracingPlanner,
        marks: Mapping[int, int],
    ) -> None:
        super().__init__(base, steps)
        self.planner = planner
        self.marks = marks

    def then(self, step: ChainStep) -> "Attribute":
        return _TracedAttribute(self.base, (*self.steps, step), self.planner, self.marks)

    def node(self, counted: bool = True) -> Node:
        tested = counted and bool(self.steps) and self.steps[-1].test
        refunds = tested and (not isinstance(self.base, NodeBase) or self.base.counted)
        charge = 0
        if isinstance(self.base, NodeBase):
            tested = tested and not self.base.free_test
            made = self.base.node
            charge = int(self.base.counted and counted)
            if charge and not self.steps:
                made = Chain(made, (), charge)
        else:
            made = base_node(self.base, int(counted))
        made = self._traced(made, 0)
        for number, step in enumerate(self.steps, 1):
            last = number == len(self.steps)
            units = charge - int(tested and last and not refunds)
            made = self._traced(Chain(made, (step,), units, refunds and last), number)
            charge = 0
        return made

    def _traced(self, node: Node, number: int) -> Node:
        mark = self.marks.get(number)
        if mark is None:
            return node
        return self.planner.trace(node, mark)

"""Chains of selects and indexes while they are planned: cel-go's "attributes".

cel-go charges one unit for the base of a chain and one for each step, but none for the base if the
chain is directly a branch of ``?:``. So a chain becomes a node only when its position is known.
"""

from dataclasses import dataclass

from policyd._core.eval.access import Chain, ChainStep, HasPathNode, OptionalPathNode, PathNode
from policyd._core.eval.folds import BoundSlot
from policyd._core.eval.nodes import Node, Slot
from policyd._core.eval.program import PlannedVariable, VariableNode


@dataclass(frozen=True, repr=False, eq=False)
class SlotBase:
    """A variable in a slot."""

    slot: int
    name: str


@dataclass(frozen=True, repr=False, eq=False)
class BoundBase:
    """A name bound by optMap or sortBy: a slot filled at first use."""

    slot: int
    value: Node


@dataclass(frozen=True, repr=False, eq=False)
class VariableBase:
    """``variables.x``, including the select of x."""

    variable: PlannedVariable


@dataclass(frozen=True, repr=False, eq=False)
class NodeBase:
    """Any other expression. ``counted`` is False for ``?:``, which is free in cel-go; has() of it
    costs one unit less, unless ``free_test``.
    """

    node: Node
    counted: bool = True
    free_test: bool = False


Base = SlotBase | BoundBase | VariableBase | NodeBase


@dataclass(frozen=True, repr=False, eq=False)
class Attribute:
    """An open chain."""

    base: Base
    steps: tuple[ChainStep, ...] = ()

    def then(self, step: ChainStep) -> "Attribute":
        return Attribute(self.base, (*self.steps, step))

    def node(self, counted: bool = True) -> Node:
        """Return the node of the chain; ``counted``: it is not directly a branch of ``?:``."""
        base = self.base
        base_counted = not isinstance(base, NodeBase) or base.counted
        tested = bool(self.steps) and self.steps[-1].test
        # Before 1.38, has() subtracts a unit, also if its base was free.
        refunded = tested and not (isinstance(base, NodeBase) and base.free_test)
        charge = int(base_counted) - int(refunded) if counted else 0
        if not self.steps:
            return base_node(base, charge)
        if isinstance(base, SlotBase) and all([step.is_name for step in self.steps]):
            path = _path(base, self.steps, charge)
            if path is not None:
                return path
        return Chain(base_node(base, 0), self.steps, charge)


def base_node(base: Base, charge: int) -> Node:
    """Return the node of the base, which costs ``charge`` in addition to its evaluation."""
    if isinstance(base, SlotBase):
        return Slot(base.slot, base.name, charge)
    if isinstance(base, NodeBase):
        return Chain(base.node, (), charge) if charge else base.node
    if isinstance(base, BoundBase):
        return BoundSlot(base.slot, base.value, charge)
    return VariableNode(base.variable, 1 + charge)


def _path(base: SlotBase, steps: tuple[ChainStep, ...], charge: int) -> Node | None:
    """Return the node for a chain of names from a variable, if its shape has one."""
    names = tuple([step.key for step in steps])
    optional = [step.optional for step in steps]
    if any([step.test for step in steps]):
        return None if True in optional else HasPathNode(base.slot, base.name, names)
    if True in optional:
        return OptionalPathNode(base.slot, base.name, names, optional.index(True), charge)
    return PathNode(base.slot, base.name, names, charge)

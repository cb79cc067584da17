"""Chains of selects and indexes while they are planned: cel-go's "attributes".

cel-go counts a chain as one unit for its base and one for each step, but a chain that is directly a
branch of ``?:`` is not counted for its base. So a chain stays open until its position is known, and
only then becomes a node.
"""

from dataclasses import dataclass
from enum import Enum, auto

from policyd._core.eval.access import Chain, ChainStep, HasPathNode, OptionalPathNode, PathNode
from policyd._core.eval.folds import BoundSlot
from policyd._core.eval.nodes import Node, Slot
from policyd._core.eval.program import PlannedVariable, VariableNode
from policyd._core.json.shared_keys import shared_key


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


class Mode(Enum):
    """The kind of access of a step."""

    PLAIN = auto()
    OPTIONAL = auto()
    TEST = auto()  # has()


@dataclass(frozen=True, repr=False, eq=False)
class Hop:
    """One step: a constant key, or the node of a key."""

    key: object
    node: Node | None = None
    mode: Mode = Mode.PLAIN
    declared: bool = False  # a field of an ``Object``, known to the checker

    @property
    def is_name(self) -> bool:
        return self.node is None and type(self.key) is str and not self.declared

    def step(self) -> ChainStep:
        optional, test = self.mode is Mode.OPTIONAL, self.mode is Mode.TEST
        if self.node is not None:
            return ChainStep(node=self.node, optional=optional, test=test)
        key = shared_key(self.key) if isinstance(self.key, str) else self.key
        return ChainStep(key, optional=optional, test=test, declared=self.declared)


@dataclass(frozen=True, repr=False, eq=False)
class Attribute:
    """An open chain."""

    base: Base
    hops: tuple[Hop, ...] = ()

    def then(self, hop: Hop) -> "Attribute":
        return Attribute(self.base, (*self.hops, hop))

    def node(self, counted: bool = True) -> Node:
        """Return the node of the chain; ``counted``: it is not directly a branch of ``?:``."""
        base = self.base
        base_counted = not isinstance(base, NodeBase) or base.counted
        tested = bool(self.hops) and self.hops[-1].mode is Mode.TEST
        # Before 1.38, has() subtracts a unit, also if its base was free.
        refunded = tested and not (isinstance(base, NodeBase) and base.free_test)
        charge = int(base_counted) - int(refunded) if counted else 0
        if not self.hops:
            return base_node(base, charge)
        if isinstance(base, SlotBase) and all([hop.is_name for hop in self.hops]):
            path = _path(base, self.hops, charge)
            if path is not None:
                return path
        return Chain(base_node(base, 0), tuple([hop.step() for hop in self.hops]), charge)


def base_node(base: Base, charge: int) -> Node:
    """Return the node of the base, which costs ``charge`` in addition to its evaluation."""
    if isinstance(base, SlotBase):
        return Slot(base.slot, base.name, charge)
    if isinstance(base, NodeBase):
        return Chain(base.node, (), charge) if charge else base.node
    if isinstance(base, BoundBase):
        return BoundSlot(base.slot, base.value, charge)
    return VariableNode(base.variable, 1 + charge)


def _path(base: SlotBase, hops: tuple[Hop, ...], charge: int) -> Node | None:
    """Return the node for a chain of names from a variable, if its shape has one."""
    names = tuple([shared_key(str(hop.key)) for hop in hops])
    modes = [hop.mode for hop in hops]
    if Mode.TEST in modes:
        return None if Mode.OPTIONAL in modes else HasPathNode(base.slot, base.name, names)
    if Mode.OPTIONAL in modes:
        return OptionalPathNode(base.slot, base.name, names, modes.index(Mode.OPTIONAL), charge)
    return PathNode(base.slot, base.name, names, charge)

from collections.abc import Mapping
from typing import Any, final

from policyd._core.eval.nodes import Node
from policyd._core.eval.slots import Slots

@final
class Program:
    def __init__(
        self,
        text: str,
        root: Node,
        layout: Slots,
        result_type: Any,
        rereads: bool = False,
        nesting: int = 0,
        hands_on: bool = True,
        since_1_38: bool = False,
    ) -> None: ...
    def evaluate(
        self, variables: Mapping[str, Any], *, cost_limit: int = ..., deadline: int = 0
    ) -> Any: ...
    def evaluate_with_cost(
        self,
        variables: Mapping[str, Any],
        *,
        cost_limit: int = ...,
        deadline: int = 0,
        typing: Any = None,
    ) -> tuple[Any, int]: ...
    @property
    def text(self) -> str: ...
    @property
    def result_type(self) -> Any: ...
    @property
    def nesting(self) -> int: ...
    @property
    def hands_on(self) -> bool: ...
    @property
    def layout(self) -> Slots: ...

def render(value: Any) -> str: ...
def type_of(value: Any) -> str: ...

@final
class PlannedVariable:
    def __init__(self, name: str, slot: int) -> None: ...
    def define(self, program: Program, shared: str | None = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def slot(self) -> int: ...

@final
class VariableNode(Node):
    def __init__(self, variable: PlannedVariable, units: int = 2) -> None: ...

@final
class VariableTest(Node):
    def __init__(self, variable: PlannedVariable) -> None: ...

@final
class VariableOptional(Node):
    def __init__(self, variable: PlannedVariable) -> None: ...

def constant(node: Node) -> Node: ...
def compute(node: Node, since_1_38: bool = False) -> tuple[Any, int]: ...
def nanoseconds(
    programs: tuple[Program, ...], variables: dict[str, Any], rounds: int = ...
) -> float: ...

from typing import final

from policyd._core.eval.functions import Overload
from policyd._core.eval.nodes import Node

class CallNode(Node):
    @property
    def name(self) -> str: ...
    @property
    def overloads(self) -> tuple[Overload, ...]: ...

@final
class Call1(CallNode):
    def __init__(
        self, name: str, overloads: tuple[Overload, ...], first: Node, known: bool = True
    ) -> None: ...

@final
class Call2(CallNode):
    def __init__(
        self,
        name: str,
        overloads: tuple[Overload, ...],
        first: Node,
        second: Node,
        known: bool = True,
        prepared: object = ...,
    ) -> None: ...

@final
class CallMany(CallNode):
    def __init__(
        self,
        name: str,
        overloads: tuple[Overload, ...],
        arguments: tuple[Node, ...],
        known: bool = True,
        prepared: object = ...,
    ) -> None: ...

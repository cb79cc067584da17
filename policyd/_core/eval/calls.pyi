from typing import final

from policyd._core.eval.functions import Overload
from policyd._core.eval.nodes import Node

class Call(Node):
    @property
    def name(self) -> str: ...
    @property
    def overloads(self) -> tuple[Overload, ...]: ...

@final
class Call0(Call):
    def __init__(self, name: str, overloads: tuple[Overload, ...], known: bool = True) -> None: ...

@final
class Call1(Call):
    def __init__(
        self, name: str, overloads: tuple[Overload, ...], first: Node, known: bool = True
    ) -> None: ...

@final
class Call2(Call):
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
class Call3(Call):
    def __init__(
        self,
        name: str,
        overloads: tuple[Overload, ...],
        first: Node,
        second: Node,
        third: Node,
        known: bool = True,
        prepared: object = ...,
    ) -> None: ...

@final
class CallMany(Call):
    def __init__(
        self,
        name: str,
        overloads: tuple[Overload, ...],
        arguments: tuple[Node, ...],
        known: bool = True,
    ) -> None: ...

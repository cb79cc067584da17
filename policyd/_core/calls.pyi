from policyd._core.library import Overload
from policyd._core.nodes import Node

class Call(Node):
    @property
    def name(self) -> str: ...
    @property
    def overloads(self) -> tuple[Overload, ...]: ...

class Call0(Call):
    def __init__(self, name: str, overloads: tuple[Overload, ...], known: bool = True) -> None: ...

class Call1(Call):
    def __init__(
        self, name: str, overloads: tuple[Overload, ...], first: Node, known: bool = True
    ) -> None: ...

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

class Call3(Call):
    def __init__(
        self,
        name: str,
        overloads: tuple[Overload, ...],
        first: Node,
        second: Node,
        third: Node,
        known: bool = True,
    ) -> None: ...

class CallMany(Call):
    def __init__(
        self,
        name: str,
        overloads: tuple[Overload, ...],
        arguments: tuple[Node, ...],
        known: bool = True,
    ) -> None: ...

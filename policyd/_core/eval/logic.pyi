from collections.abc import Iterable
from typing import final

from policyd._core.eval.nodes import Node

@final
class And(Node):
    def __init__(self, terms: tuple[Node, ...]) -> None: ...
    @property
    def terms(self) -> tuple[Node, ...]: ...

@final
class Or(Node):
    def __init__(self, terms: tuple[Node, ...]) -> None: ...
    @property
    def terms(self) -> tuple[Node, ...]: ...

@final
class Conditional(Node):
    def __init__(self, condition: Node, yes: Node, no: Node) -> None: ...

@final
class Equal(Node):
    def __init__(self, left: Node, right: Node, negated: bool = False) -> None: ...

@final
class EqualConst(Node):
    def __init__(self, child: Node, constant: str, negated: bool = False) -> None: ...

@final
class InSet(Node):
    def __init__(self, child: Node, members: Iterable[object]) -> None: ...

@final
class OptionalOr(Node):
    def __init__(
        self, left: Node, right: Node, unwrap: bool = False, checks: bool = True
    ) -> None: ...

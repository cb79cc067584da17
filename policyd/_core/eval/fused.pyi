from typing import final

from policyd._core.eval.access import PathNode
from policyd._core.eval.calls import Call2
from policyd._core.eval.nodes import Node

@final
class PathTests(Node):
    def __init__(
        self,
        slot: int,
        fields: tuple[str, ...],
        terms: tuple[Node, ...],
        keys: tuple[str, ...],
        codes: bytes,
    ) -> None: ...
    @property
    def slot(self) -> int: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def terms(self) -> tuple[Node, ...]: ...
    @property
    def keys(self) -> tuple[str, ...]: ...

@final
class StringTest(Node):
    def __init__(
        self, call: Call2, path: PathNode, part: str, charges: bool, by_part: bool = False
    ) -> None: ...

from collections.abc import Iterable
from typing import final

from policyd._core.eval.nodes import Node

@final
class ListNode(Node):
    def __init__(self, elements: tuple[Node, ...], optional: Iterable[int] = ...) -> None: ...

@final
class MapNode(Node):
    def __init__(
        self, keys: tuple[Node, ...], values: tuple[Node, ...], optional: Iterable[int] = ...
    ) -> None: ...

@final
class StructNode(Node):
    def __init__(
        self,
        name: str,
        names: tuple[str, ...],
        values: tuple[Node, ...],
        optional: Iterable[int] = ...,
    ) -> None: ...

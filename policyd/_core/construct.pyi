from collections.abc import Iterable

from policyd._core.nodes import Node

class ListNode(Node):
    def __init__(self, elements: tuple[Node, ...], optional: Iterable[int] = ...) -> None: ...

class MapNode(Node):
    def __init__(
        self, keys: tuple[Node, ...], values: tuple[Node, ...], optional: Iterable[int] = ...
    ) -> None: ...

class StructNode(Node):
    def __init__(
        self,
        type_name: str,
        names: tuple[str, ...],
        values: tuple[Node, ...],
        optional: Iterable[int] = ...,
    ) -> None: ...

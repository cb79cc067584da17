from typing import final

from policyd._core.eval.nodes import Node

class FoldNode(Node):
    def __init__(self, range: Node, slot: int, second_slot: int, body: Node) -> None: ...

@final
class AllNode(FoldNode): ...

@final
class ExistsNode(FoldNode): ...

@final
class ExistsOneNode(FoldNode): ...

@final
class Collect(FoldNode):
    def __init__(
        self,
        range: Node,
        slot: int,
        second_slot: int,
        body: Node,
        condition: Node | None,
        constant: bool,
    ) -> None: ...

@final
class CollectMap(FoldNode):
    def __init__(
        self,
        range: Node,
        slot: int,
        second_slot: int,
        body: Node,
        condition: Node | None,
        entries: bool,
    ) -> None: ...

@final
class Bind(Node):
    def __init__(self, slot: int, body: Node) -> None: ...

@final
class BoundSlot(Node):
    def __init__(self, slot: int, value: Node, units: int = 1) -> None: ...

from policyd._core.nodes import Node

class Fold(Node):
    def __init__(self, range: Node, slot: int, second_slot: int, body: Node) -> None: ...

class All(Fold): ...
class Exists(Fold): ...
class ExistsOne(Fold): ...

class Collect(Fold):
    def __init__(
        self,
        range: Node,
        slot: int,
        second_slot: int,
        body: Node,
        condition: Node | None,
        constant: bool,
    ) -> None: ...

class CollectMap(Fold):
    def __init__(
        self,
        range: Node,
        slot: int,
        second_slot: int,
        body: Node,
        condition: Node | None,
        entries: bool,
    ) -> None: ...

class Bind(Node):
    def __init__(self, slot: int, body: Node) -> None: ...

class BoundSlot(Node):
    def __init__(self, slot: int, value: Node, charge: int = 1) -> None: ...

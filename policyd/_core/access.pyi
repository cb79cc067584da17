from policyd._core.nodes import Node

class Path(Node):
    def __init__(self, slot: int, name: str, fields: tuple[str, ...], charge: int = 1) -> None: ...
    @property
    def slot(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def fields(self) -> tuple[str, ...]: ...

class HasPath(Node):
    def __init__(self, slot: int, name: str, fields: tuple[str, ...]) -> None: ...

class OptionalPath(Node):
    def __init__(
        self, slot: int, name: str, fields: tuple[str, ...], first: int, charge: int = 1
    ) -> None: ...

class OptionalPathOr(Node):
    def __init__(self, path: OptionalPath, otherwise: Node) -> None: ...

class Step:
    def __init__(
        self,
        key: object = ...,
        node: Node | None = None,
        optional: bool = False,
        test: bool = False,
    ) -> None: ...

class Chain(Node):
    def __init__(self, base: Node, steps: tuple[Step, ...], charge: int = 1) -> None: ...

class OptionalOr(Node):
    def __init__(self, left: Node, right: Node, unwrap: bool = False) -> None: ...

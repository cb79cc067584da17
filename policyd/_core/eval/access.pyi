from typing import Any, final

from policyd._core.eval.nodes import Node

@final
class PathNode(Node):
    def __init__(self, slot: int, name: str, fields: tuple[str, ...], units: int = 1) -> None: ...
    @property
    def slot(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def units(self) -> int: ...

@final
class HasPathNode(Node):
    def __init__(self, slot: int, name: str, fields: tuple[str, ...]) -> None: ...
    @property
    def slot(self) -> int: ...
    @property
    def fields(self) -> tuple[str, ...]: ...

@final
class OptionalPathNode(Node):
    def __init__(
        self, slot: int, name: str, fields: tuple[str, ...], first: int, units: int = 1
    ) -> None: ...

@final
class OptionalPathOrNode(Node):
    def __init__(self, path: OptionalPathNode, otherwise: Node) -> None: ...

@final
class ChainStep:
    def __init__(
        self,
        key: object = ...,
        node: Node | None = None,
        optional: bool = False,
        test: bool = False,
        declared: bool = False,
    ) -> None: ...
    @property
    def is_name(self) -> bool: ...
    @property
    def key(self) -> Any: ...
    @property
    def node(self) -> Node | None: ...
    @property
    def optional(self) -> bool: ...
    @property
    def test(self) -> bool: ...
    @property
    def declared(self) -> bool: ...

@final
class RawKey(Node):
    def __init__(self, node: Node) -> None: ...

@final
class OwnKey(Node):
    def __init__(self, node: Node) -> None: ...

@final
class Chain(Node):
    def __init__(
        self, base: Node, steps: tuple[ChainStep, ...], units: int = 1, refunds: bool = False
    ) -> None: ...

from collections.abc import Collection, Iterable
from typing import Any, final

from policyd._core.eval.program import Program
from policyd._core.schema.types import Type

class OverlayError(Exception): ...

@final
class Work: ...

@final
class Expression:
    program: Program
    def __init__(self, program: Program, number: int) -> None: ...

@final
class Scope:
    def __init__(self, conditions: Iterable[tuple[tuple[str, ...], object]] = ()) -> None: ...

class Change: ...

@final
class Fixed(Change):
    def __init__(self, value: Any) -> None: ...

@final
class Removed(Change): ...

@final
class Computed(Change):
    def __init__(self, expression: Expression, type: Type, path: str) -> None: ...

@final
class Text(Change):
    def __init__(self, parts: Iterable[str | Expression], type: Type, path: str) -> None: ...

@final
class MapChange(Change):
    def __init__(
        self,
        names: Iterable[str],
        changes: Iterable[Change],
        added: Collection[str] = (),
        *,
        empty: bool = False,
    ) -> None: ...

@final
class Item(Change):
    def __init__(self, change: Change, key: Any = None) -> None: ...

@final
class Each:
    def __init__(self, scope: Scope, change: Change | None, key: Item | None = None) -> None: ...

@final
class ListChange(Change):
    def __init__(
        self,
        type: Type,
        items: Iterable[Item] = (),
        removed: Iterable[Item] = (),
        each: Iterable[Each] = (),
        path: str = "",
    ) -> None: ...

@final
class Whole(Change):
    def __init__(self, items: Iterable[Change]) -> None: ...

@final
class Overlay:
    expressions: int
    def __init__(self, scope: Scope, change: Change, expressions: int = 0) -> None: ...
    def apply(self, obj: dict[str, Any]) -> dict[str, Any]: ...

def settled(value: Any) -> Any: ...
def key_in(item: Any, type: Type) -> Any: ...

from collections.abc import Collection, Iterable
from typing import Any, final

from policyd._core.plan.overlay_run import OverlayChange, OverlayExpression, OverlayScope
from policyd._core.schema.types import SchemaType

@final
class FixedChange(OverlayChange):
    def __init__(self, value: Any) -> None: ...

@final
class RemovalChange(OverlayChange): ...

@final
class ComputedChange(OverlayChange):
    def __init__(self, expression: OverlayExpression, type: SchemaType, path: str) -> None: ...

@final
class StringChange(OverlayChange):
    def __init__(
        self, parts: Iterable[str | OverlayExpression], type: SchemaType, path: str
    ) -> None: ...

@final
class MapChange(OverlayChange):
    def __init__(
        self,
        names: Iterable[str],
        changes: Iterable[OverlayChange],
        added: Collection[str] = (),
        *,
        empty: bool = False,
    ) -> None: ...

@final
class BoundOverlay:
    def __init__(
        self, scope: OverlayScope, change: OverlayChange, expressions: int = 0
    ) -> None: ...
    def apply(self, obj: dict[str, Any]) -> dict[str, Any]: ...
    @property
    def expressions(self) -> int: ...

@final
class ItemChange(OverlayChange):
    def __init__(self, change: OverlayChange, key: Any = None) -> None: ...

@final
class EachItemChange:
    def __init__(
        self, scope: OverlayScope, change: OverlayChange | None, key: ItemChange | None = None
    ) -> None: ...

@final
class ListChange(OverlayChange):
    def __init__(
        self,
        type: SchemaType,
        items: Iterable[ItemChange] = (),
        removed: Iterable[ItemChange] = (),
        each: Iterable[EachItemChange] = (),
        path: str = "",
        prepends: bool = False,
    ) -> None: ...

@final
class WholeListChange(OverlayChange):
    def __init__(
        self, items: Iterable[OverlayChange], *, appends: bool = False, prepends: bool = False
    ) -> None: ...

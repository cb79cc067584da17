from collections.abc import Iterable
from typing import Any, final

from policyd._core.plan.overlay_run import OverlayChange, OverlayScope
from policyd._core.schema.types import SchemaType

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

def key_in(item: Any, type: SchemaType) -> Any: ...

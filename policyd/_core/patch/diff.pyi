from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

def diff(
    old: Any,
    new: Any,
    keys: Callable[[tuple[str | int, ...]], Sequence[str] | None]
    | Mapping[str, Sequence[str]]
    | None = None,
) -> list[dict[str, Any]]: ...

@final
class Differ: ...

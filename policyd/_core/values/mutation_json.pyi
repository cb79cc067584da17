from typing import Any

from policyd._core.values.types import StructValue

class ConversionError(Exception): ...

def json_value(value: object, sources: tuple[object, ...] | None = None) -> Any: ...
def object_value(
    value: StructValue, sources: tuple[object, ...] | None = None, size: int = -1
) -> dict[str, Any]: ...

from typing import Any

from policyd._core.values.read_trees import ReadTrees
from policyd._core.values.types import StructValue

class ConversionError(Exception): ...

def json_value(value: object, sources: ReadTrees | None = None) -> Any: ...
def object_value(
    value: StructValue, sources: ReadTrees | None = None, size: int = -1
) -> dict[str, Any]: ...

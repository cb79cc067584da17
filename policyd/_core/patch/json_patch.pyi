from collections.abc import Sequence
from typing import Any, final

from policyd._core.values.read_trees import ReadTrees
from policyd.errors import MutationError

ABSENT: Any
COPY_LIMIT: int

@final
class PatchOperation:
    def __init__(self, op: str, path: str, source: str = "", value: Any = ...) -> None: ...
    @property
    def op(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def value(self) -> Any: ...

class JSONPatchError(MutationError): ...

def operations_of(
    items: list[Any], sources: ReadTrees | None = None
) -> tuple[list[PatchOperation], list[Any]]: ...
def apply(operations: Sequence[PatchOperation], document: Any) -> Any: ...

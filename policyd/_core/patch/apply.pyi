from collections.abc import Sequence
from typing import Any, final

from policyd._core.patch.diff import diff as diff

def apply(operations: Sequence[dict[str, Any]], obj: Any) -> Any: ...

@final
class PatchedDocument:
    def __init__(self, root: Any) -> None: ...

from collections.abc import Sequence
from typing import Any, final

from policyd._core.patch.diff import diff as diff

@final
class PatchedDocument:
    def __init__(self, root: Any) -> None: ...

def apply(operations: Sequence[dict[str, Any]], obj: Any) -> Any:
    """The document that RFC 6902 operations make of ``obj``.

    Neither ``obj`` nor the operations are changed: what they hold is shared with the result, what
    lies on a changed path is copied. Raises PatchError, naming the operation, if one cannot be
    applied or its ``test`` fails.
    """

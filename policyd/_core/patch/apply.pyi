from collections.abc import Sequence
from typing import Any, final

from policyd._core.patch.diff import diff as diff

@final
class PatchedDocument:
    def __init__(self, root: Any) -> None: ...

def apply(operations: Sequence[dict[str, Any]], obj: Any) -> Any:
    """Apply RFC 6902 operations to ``obj`` and return the result.

    Neither ``obj`` nor the operations are changed: the result shares their values, except for
    copies of the containers on changed paths. Raises PatchError, which names the operation, if an
    operation cannot be applied or a ``test`` fails.
    """

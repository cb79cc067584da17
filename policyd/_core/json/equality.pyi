from typing import Any

MAX_DEPTH: int

def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, 1 and 1.0 and true being different.

    Raises PatchError below ``MAX_DEPTH`` levels.
    """

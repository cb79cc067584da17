from typing import Any

MAX_DEPTH: int

def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. 1, 1.0 and true are different.

    Raises PatchError if they are nested deeper than ``MAX_DEPTH`` levels.
    """

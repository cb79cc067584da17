from typing import Any

MAX_DEPTH: int

def equal(one: Any, other: Any) -> bool: ...

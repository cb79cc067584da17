from typing import Any

TOO_DEEP: str
TOO_LARGE_NUMBER: str

def is_ordinary(body: bytes, depth: int) -> bool: ...
def normal(tree: Any, depth: int) -> Any: ...

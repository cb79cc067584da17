from typing import Any

MAX_PATCH_BYTES: int
TOO_LARGE: str

def patch_bytes(operations: list[dict[str, Any]], limit: int) -> int: ...
def json_bytes(value: object, limit: int) -> int: ...

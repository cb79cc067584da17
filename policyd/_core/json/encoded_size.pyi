from typing import Any

MAX_PATCH_BYTES: int
TOO_LARGE: str

def patch_bytes(operations: list[dict[str, Any]], limit: int) -> int:
    """What the operations take, counted until it is more than ``limit``."""

def json_bytes(value: object, limit: int) -> int:
    """What a value of JSON or CEL takes, counted until it is more than ``limit``."""

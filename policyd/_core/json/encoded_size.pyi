from typing import Any

MAX_PATCH_BYTES: int
TOO_LARGE: str

def patch_bytes(operations: list[dict[str, Any]], limit: int) -> int:
    """The size of the operations. The count stops above ``limit``."""

def json_bytes(value: object, limit: int) -> int:
    """The size of a JSON or CEL value. The count stops above ``limit``."""

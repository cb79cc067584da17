from typing import Any

def unsendable(operations: list[dict[str, Any]]) -> str | None:
    """The first value of the operations that JSON or the API server cannot represent, or None."""

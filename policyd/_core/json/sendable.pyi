from typing import Any

def unsendable(operations: list[dict[str, Any]]) -> str | None:
    """What in the values of the operations JSON or the API server cannot carry, or None."""

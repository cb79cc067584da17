from typing import Any

from policyd._core.schema.types import Field

def json_patched(
    value: object, obj: dict[str, Any], root: Field, sources: tuple[object, ...] | None
) -> dict[str, Any] | None:
    """Apply a list of JSONPatch{...}. Raises MutationError."""

def configuration_applied(
    value: object, obj: dict[str, Any], root: Field, sources: tuple[object, ...] | None
) -> dict[str, Any] | None:
    """Merge an Object{...} whose kind ApplyConfiguration supports."""

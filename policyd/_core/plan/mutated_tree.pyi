from typing import Any, final

from policyd._core.schema.types import Field

@final
class MutatedTree:
    original: Any
    current: Any
    changes: int
    operations: list[dict[str, Any]]
    def __init__(self, original: Any, root: Field | None) -> None: ...
    def accept(self, changed: Any) -> str | None:
        """Replace the tree by ``changed``. If the change cannot be sent as a patch, return what is
        wrong with it and keep the tree.
        """

    def restore(self, tree: Any) -> None:
        """Return to an earlier tree."""

    def patch(self, before: Any = None) -> list[dict[str, Any]]:
        """The operations that change ``before`` (None: the original) into the tree."""

@final
class ChangeLog:
    changes: list[tuple[Any, list[dict[str, Any]], Any, Any]]
    only_adds: bool
    def suspects(self, operations: list[dict[str, Any]]) -> bool:
        """Whether a change may be in conflict with the earlier ones."""

    def add(
        self, policy: Any, operations: list[dict[str, Any]], before: Any, after: Any
    ) -> None: ...

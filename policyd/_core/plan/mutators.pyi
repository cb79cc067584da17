from typing import Any, final

from policyd._core.schema.types import Field

class UsualMutator:
    def apply(
        self, value: object, obj: dict[str, Any], root: Field, sources: tuple[object, ...] | None
    ) -> dict[str, Any] | None:
        """The changed object, or ``obj`` itself; None if the case is not the usual one. Raises
        MutationError.
        """

@final
class PatchMutator(UsualMutator): ...

@final
class ConfigurationMutator(UsualMutator): ...

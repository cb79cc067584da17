"""What the names in a JMESPath expression mean in CEL."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


class NotTranslatable(Exception):
    """Raised for what CEL cannot say; the message names the function or the construct."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """``meanings`` maps what an expression may start with, such as ``element``, to CEL."""

    meanings: Mapping[str, str] = field(default_factory=dict)

    def bound(self, name: str, expression: str) -> "Vocabulary":
        """Return the vocabulary with one more name."""
        return replace(self, meanings={**self.meanings, name: expression})

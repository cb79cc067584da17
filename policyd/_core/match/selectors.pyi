from typing import Any, final

@final
class Requirement:
    def __init__(self, key: str, operator: str, values: list[str]) -> None: ...

@final
class Selector:
    """A label selector; ``None`` and ``{}`` match everything.

    Raises ValueError with the text of ``metav1.LabelSelectorAsSelector`` if it is malformed.
    """

    def __init__(self, selector: dict[str, Any] | None = None) -> None: ...
    @property
    def empty(self) -> bool: ...
    def matches(self, labels: dict[str, str]) -> bool:
        """Whether an object with these labels is selected."""

from collections.abc import Callable
from typing import Any, final

from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Subject
from policyd._core.plan.validation import ValidationOutcome

@final
class DirectValidation:
    def __init__(
        self,
        matches: list[tuple[Any, Hit]],
        subject_of: Callable[[Hit, bool], Subject],
        deadline: int,
    ) -> None: ...
    def run(self, at: int) -> bool: ...
    @property
    def at(self) -> int: ...
    @property
    def outcome(self) -> ValidationOutcome | None: ...
    @property
    def error(self) -> Exception | None: ...
    @property
    def deadline(self) -> int: ...

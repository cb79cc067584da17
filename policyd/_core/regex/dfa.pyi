from enum import IntFlag
from typing import final

class Op(IntFlag):
    MATCH = ...
    ONE = ...
    EITHER = ...
    TEXT_START = ...
    LINE_START = ...
    TEXT_END = ...
    LINE_END = ...
    BOUNDARY = ...
    NO_BOUNDARY = ...

@final
class Dfa:
    def __init__(
        self,
        instructions: list[tuple[int, int, int]],
        start: int,
        sets: list[int],
        kinds: bytes,
    ) -> None:
        """``instructions``: operation, the next, and for EITHER the other next, for ONE the number
        of its set; the first is MATCH. ``start``: where to begin. ``sets``: bit n is character n.
        ``kinds``: for each ASCII character its kind; what is of one kind is never told apart.
        """

    @property
    def steps(self) -> int:
        """How many transitions were worked out so far."""

    @property
    def gave_up(self) -> bool:
        """The pattern needs too many states: this machine answers nothing any more."""

    def matches(self, text: str) -> bool | None:
        """None: not known here, as the text is not ASCII or there are too many states."""

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
        texts: tuple[str, ...] = (),
    ) -> None:
        """``instructions``: (operation, next, other next for EITHER or number of the set for ONE);
        the first is MATCH. ``start``: the first instruction to run. ``sets``: bit n is character n.
        ``kinds``: the kind of each ASCII character; characters of one kind are equivalent.
        ``texts``: the sets in RE2 syntax, for ``Backtracking``.
        """

    @property
    def steps(self) -> int:
        """The number of transitions computed so far."""

    @property
    def gave_up(self) -> bool:
        """The pattern needs too many states; the DFA no longer returns results."""

    def matches(self, text: str) -> bool | None:
        """Whether the string matches; None if it is not ASCII or if there are too many states."""

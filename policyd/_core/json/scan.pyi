from typing import final

def repaired(text: bytes) -> bytes:
    """JSON with U+FFFD for each half of a surrogate pair, as Go decodes it."""

@final
class JSONScan:
    """A scan of a body: its depth, and the positions of the first half of a surrogate pair and the
    first byte that is not UTF-8 (-1: none).
    """

    depth: int
    surrogate: int
    octet: int
    def __init__(self, body: bytes) -> None: ...
    def problem(self) -> int:
        """The position of the first byte that is not valid JSON, or -1."""

    def members(self, at: int, names: tuple[str, ...]) -> dict[str, tuple[int, int]] | None:
        """Start and end of the members with these names; None if no object begins at ``at``.

        If a name occurs twice, the last member counts. The body must be valid JSON.
        """

    def elements(self, at: int) -> list[tuple[int, int]] | None:
        """Start and end of each element; None if no array begins at ``at``.

        The body must be valid JSON.
        """

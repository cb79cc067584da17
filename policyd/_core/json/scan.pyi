from typing import final

def repaired(text: bytes) -> bytes:
    """JSON with U+FFFD for each half of a surrogate pair, as Go reads it."""

@final
class JSONScan:
    """A body looked through: its deepest level, and where the first half of a surrogate pair and
    the first octet that is not UTF-8 stand (-1: nowhere).
    """

    depth: int
    surrogate: int
    octet: int
    def __init__(self, body: bytes) -> None: ...
    def problem(self) -> int:
        """The place of the first byte that makes the body no JSON, or -1."""

    def members(self, at: int, names: tuple[str, ...]) -> dict[str, tuple[int, int]] | None:
        """Where the members of these names begin and end; None if no object begins at ``at``.

        Of members with one name the last counts. The body is known to be JSON.
        """

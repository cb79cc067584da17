"""Bodies in tiny pieces: how many of them a connection may send."""

# Bodies arrive in pieces, such as chunks. A piece of one byte costs 10 us to
# process and 6 bytes to send, so that a slow stream of them would delay every other request. After
# the first pieces of a connection, their average size must be at least this; API servers send KiB
# at a time.
FREE_PIECES = 1000
PIECE_BYTES = 64


class BodyPieces:
    """Counts the pieces in which the bodies on one connection arrive."""

    __slots__ = ("_bytes", "_pieces")

    def __init__(self) -> None:
        self._bytes = self._pieces = 0

    def are_too_small(self, size: int) -> bool:
        """Count a piece of ``size`` bytes; whether the pieces so far are too small on average."""
        self._pieces += 1
        self._bytes += size
        return self._pieces > FREE_PIECES and self._bytes < self._pieces * PIECE_BYTES

"""Reads the heads of HTTP/2 frames as their bytes pass; interprets nothing else of them.

Not every frame becomes an event of h2: it drops or answers those of streams that have ended.
"""

from typing import NamedTuple

PREFACE_BYTES = 24  # what a client sends before its first frame
HEAD_BYTES = 9
DATA = 0  # kind of the frames that carry bodies


class FrameHead(NamedTuple):
    """What the head of a frame states: the kind, and the bytes after the head."""

    kind: int
    length: int


class FrameHeads:
    """The bytes of a connection until the next head of a frame, and what is here of that head."""

    __slots__ = ("_head", "_skipped")

    def __init__(self) -> None:
        self._skipped = PREFACE_BYTES
        self._head = b""

    def read(self, data: bytes) -> list[FrameHead]:
        """Return the heads that end in these bytes."""
        at = 0
        found: list[FrameHead] = []
        while True:
            at += self._skipped
            if at >= len(data):
                self._skipped = at - len(data)
                return found
            self._skipped = 0
            head = self._head + data[at : at + HEAD_BYTES - len(self._head)]
            at += len(head) - len(self._head)
            if len(head) < HEAD_BYTES:
                self._head = head
                return found
            self._head = b""
            self._skipped = int.from_bytes(head[:3], "big")
            found.append(FrameHead(head[3], self._skipped))

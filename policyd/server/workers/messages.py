"""Messages between the supervisor and a worker, as bytes of a stream.

The stream is a socket pair that only these two processes have, and both run the same code: the
content is trusted.
"""

import marshal
import struct
from collections.abc import Iterator
from typing import Any

WorkerMessage = dict[str, Any]
_LENGTH = struct.Struct("!I")


def encode(message: WorkerMessage) -> bytes:
    """Return the bytes of a message."""
    content = marshal.dumps(message)
    return _LENGTH.pack(len(content)) + content


class MessageDecoder:
    """Collects bytes until messages are complete."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, data: bytes) -> Iterator[WorkerMessage]:
        """Yield each message that these bytes complete."""
        waiting = self._waiting
        waiting += data
        while len(waiting) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(waiting)[0]
            if len(waiting) < end:
                return
            message: WorkerMessage = marshal.loads(waiting[_LENGTH.size : end])  # noqa: S302 - see above
            del waiting[:end]
            yield message

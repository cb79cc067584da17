"""A worker's connection to its supervisor, for reports and for queries about all workers; and the
encoding of their messages.

The stream is a socket pair between these two processes, which run the same code: its content is
trusted.
"""

import asyncio
import marshal
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
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


# How long to wait for an answer. The supervisor does little else, and waits less for the workers.
ANSWER_SECONDS = 3.0
READ_BYTES = 1 << 18


class Channel:
    """The worker's end of the socket pair."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._number = 0
        self._questions: dict[int, asyncio.Future[WorkerMessage]] = {}
        self._writer: asyncio.StreamWriter | None = None

    def built(self) -> None:
        """Report that the server has been built. There is no event loop yet."""
        self._connection.sendall(encode({"built": True}))

    async def open(self) -> asyncio.StreamReader:
        """Use the connection on the running loop; return the stream to read."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._connection)
        return reader

    async def run(
        self, reader: asyncio.StreamReader, handle: Callable[[WorkerMessage], None]
    ) -> None:
        """Read the supervisor's messages; ``handle`` gets those that are not answers."""
        decoder = MessageDecoder()
        while data := await reader.read(READ_BYTES):
            for message in decoder.feed(data):
                waiting = self._questions.get(message.get("answer", 0))
                if waiting is None:
                    handle(message)
                elif not waiting.done():
                    waiting.set_result(message)
        os._exit(1)  # the supervisor is dead: free the port for a new one

    def send(self, **message: Any) -> None:
        """Send a message, unless the connection is not open yet."""
        if self._writer is not None:
            self._writer.write(encode(message))

    async def close(self) -> None:
        """Send waiting messages, and close the connection."""
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):
                await self._writer.wait_closed()

    async def ask(self, what: str, **message: Any) -> WorkerMessage:
        """Return the supervisor's answer; raises TimeoutError."""
        self._number += 1
        number = self._number
        self._questions[number] = asyncio.get_running_loop().create_future()
        try:
            self.send(ask=what, number=number, **message)
            return await asyncio.wait_for(self._questions[number], ANSWER_SECONDS)
        finally:
            del self._questions[number]

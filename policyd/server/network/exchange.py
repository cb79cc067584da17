"""One request over HTTP/1.1 and its response, with the receive and send of an ASGI app.

``http1.py`` delimits the request; this file passes on its body and delimits the response.
"""

import asyncio
from typing import Protocol

from policyd.http.messages import Header, Message

# A response up to this size is one write, and one TLS record if it fits. Larger ones are written in
# pieces, each after the client has read most of the previous one.
WHOLE_BYTES = 64 * 1024
PIECE_BYTES = 256 * 1024
# Bytes of a body that may wait for the app before reading pauses.
BEHIND_BYTES = 64 * 1024
CLOSE_LINE = b"connection: close\r\n"
JSON_LINES = b"HTTP/1.1 200 \r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n"
# These never have content.
EMPTY = (204, 304)


class Writer(Protocol):
    """Where responses are written."""

    @property
    def is_full(self) -> bool:
        """Whether the client has to read before more is written."""

    def write(self, data: bytes | memoryview) -> None:
        """Write bytes at once."""

    async def taken(self) -> None:
        """Wait until the client has read, or is gone."""

    def resume(self) -> None:
        """Read more of the request."""


class Exchange:
    """One request and its response. The app calls ``receive`` and ``send``."""

    __slots__ = (
        "_buffered",
        "_delivered",
        "_ended",
        "_expected",
        "_gone",
        "_head_only",
        "_headers",
        "_keep_alive",
        "_pieces",
        "_sent",
        "_status",
        "_waiter",
        "_writer",
        "complete",
        "started",
    )

    def __init__(self, writer: Writer, *, head_only: bool, keep_alive: bool) -> None:
        self._writer = writer
        self._head_only = head_only
        self._keep_alive = keep_alive
        # Of the request.
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._waiter: asyncio.Future[None] | None = None
        self.complete = self._delivered = self._gone = False
        # Of the response.
        self._status = 0
        self._headers: list[Header] = []
        self._expected: int | None = None
        self._sent = 0
        self.started = self._ended = False

    # Called by the protocol.

    @property
    def is_behind(self) -> bool:
        """Whether too much of the body waits for the app."""
        return self._buffered > BEHIND_BYTES

    def put(self, piece: bytes) -> None:
        """A piece of the body has arrived."""
        self._pieces.append(piece)
        self._buffered += len(piece)
        self._wake()

    def finish(self) -> None:
        """The body is complete."""
        self.complete = True
        self._wake()

    def disconnect(self) -> None:
        """The client is gone, or policyd reads no more from it."""
        self._gone = True
        self._wake()

    @property
    def body(self) -> bytes:
        """The body, once it is complete and before the app has received anything."""
        pieces = self._pieces
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def reply(self, body: bytes) -> None:
        """Respond in place of the app, with JSON."""
        self.started = self._ended = True
        self._writer.write(JSON_LINES % (len(body), b"" if self._keep_alive else CLOSE_LINE) + body)

    def close(self) -> bool:
        """End the exchange, with a response if the app sent none. Return whether another request
        may follow.
        """
        if self._gone:
            return False
        if not self.started:
            self._writer.write(b"HTTP/1.1 500 \r\ncontent-length: 0\r\n%b\r\n" % CLOSE_LINE)
        return self._ended and self.complete and self._keep_alive

    # Called by the app.

    async def receive(self) -> Message:
        """Return the part of the body that has arrived, waiting for it if necessary."""
        while not self._pieces and (self._delivered or not self.complete):
            if self._gone or self._ended:
                return {"type": "http.disconnect"}
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        pieces, self._pieces = self._pieces, []
        self._delivered = self.complete
        if self.is_behind and not self.complete:
            self._writer.resume()
        self._buffered = 0
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return {"type": "http.request", "body": body, "more_body": not self.complete}

    async def send(self, message: Message) -> None:
        """Send a part of the response; nothing once the client is gone."""
        if self._gone:
            return
        if message["type"] == "http.response.start" and not self._status:
            self._status = message["status"]
            self._headers = list(message.get("headers", ()))
            return
        if message["type"] != "http.response.body" or not self._status or self._ended:
            raise RuntimeError(f"unexpected message {message['type']}")
        body = message.get("body", b"")
        head = b"" if self.started else self._head()
        self._count(len(body), last=not message.get("more_body", False))
        self.started = True
        if self._head_only or self._status in EMPTY:
            body = b""
        if len(body) <= WHOLE_BYTES:
            if head or body:
                self._writer.write(head + body)
        else:
            await self._write_large(head, memoryview(body))
        if self._writer.is_full:
            await self._writer.taken()

    def _head(self) -> bytes:
        lines = [b"HTTP/1.1 %d \r\n" % self._status]
        closes = False
        for name, value in self._headers:
            lines.append(b"%b: %b\r\n" % (name, value))
            if name == b"content-length":
                self._expected = int(value)
            elif name == b"connection":
                closes = value == b"close"
        if self._expected is None and self._status not in EMPTY:
            self._keep_alive = False  # the end of the connection delimits the response
        if closes:
            self._keep_alive = False
        elif not self._keep_alive:
            lines.append(CLOSE_LINE)
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise ValueError("a line break in a field of the response")
        return head + b"\r\n"

    def _count(self, size: int, *, last: bool) -> None:
        """Count content. If it differed from Content-Length, the client would misread responses."""
        self._sent += size
        if self._expected is not None and self._status not in EMPTY:
            wrong = self._sent != self._expected if last else self._sent > self._expected
            if wrong and not (self._head_only and not self._sent):
                raise ValueError(f"a response of {self._expected} bytes has {self._sent}")
        self._ended = last

    async def _write_large(self, head: bytes, body: memoryview) -> None:
        self._writer.write(head)
        for start in range(0, len(body), PIECE_BYTES):
            if self._gone:
                return
            self._writer.write(body[start : start + PIECE_BYTES])
            if self._writer.is_full:
                await self._writer.taken()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

"""HTTP/1.0 and 1.1 on one connection: where each request begins and ends.

``heads.py`` parses complete heads and refuses ambiguous ones, so that no bytes of one request are
taken for another (request smuggling). The body is delimited by Content-Length, or by llhttp (in
httptools, Node's parser) if it is chunked. ``tests/server/test_http1_strictness.py`` compares the
verdicts with h11's.

There is no change of protocol, and the next request is read only after the previous one is
answered. Hypercorn reads HTTP/2 (``hypercorn_port.py``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter_ns
from typing import Any, Protocol

from httptools import HttpRequestParser

from policyd.http.endpoints import ARRIVED, PEER, ReviewRequest
from policyd.http.limits import Peer
from policyd.http.messages import App, ASGIScope, Header, Receive, Send
from policyd.server.network.connections import CloseReason
from policyd.server.network.exchange import CLOSE_LINE, Exchange, Writer
from policyd.server.network.heads import HEAD_BYTES, Head, RefusedRequest, head_of, parse

# A piece of a body, such as a chunk, costs 10 us to process and 6 bytes to send: a slow stream of
# single bytes would delay every other request. After the first pieces of a connection, their
# average size must be at least this; API servers send KiB at a time.
FREE_PIECES = 1000
PIECE_BYTES = 64

BeginReview = Callable[[ASGIScope], ReviewRequest | None]
_Answer = Callable[[Receive, Send], Awaitable[None]]

# Limits of a chunked body besides its content: sizes, extensions and trailers.
CHUNK_BYTES = 16 * 1024
END = b"\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 \r\n\r\n"


class Wire(Writer, Protocol):
    """The connection as HTTP/1.1 needs it; ``tcp.py`` implements it."""

    client: tuple[str, int]
    scheme: str

    @property
    def peer(self) -> Peer:
        """The client address."""

    def becomes_busy(self) -> None:
        """A request is under way."""

    def becomes_idle(self) -> None:
        """No request is under way."""

    def head_begins(self) -> None:
        """The next request begins to arrive."""

    def pause(self) -> None:
        """Read no more for now."""

    def end(self, reason: CloseReason) -> None:
        """Close after sending what was written."""

    def malformed(self, status: int) -> None:
        """Count a request that the app never sees."""


class Http1:
    """The requests of one connection, one after the other."""

    def __init__(self, app: App, wire: Wire) -> None:
        self._app = app
        # An interface that an app may offer besides ASGI: the review that begins with a head.
        self._begin_review: BeginReview | None = getattr(app, "begin", None)
        self._wire = wire
        # The size of all bodies so far, and the number of their pieces.
        self._received = self._pieces = 0
        # Bytes that have arrived but are not interpreted yet begin at ``_at``.
        self._data = b""
        self._at = 0
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        # The request being read. The parser reads a chunked body.
        self._parser: HttpRequestParser | None = None
        self._complete = False
        self._left = 0
        self._beside = 0

    # Called by the connection.

    def feed(self, data: bytes) -> None:
        """Interpret bytes of the client."""
        if self._ended:
            return
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0
        self._advance()

    def lost(self) -> None:
        """The connection is closed."""
        self._ended = True
        if self._exchange is not None:
            self._exchange.disconnect()

    async def run(self, lost: "asyncio.Future[None]") -> None:
        """Wait for the end of the connection, and then of the request under way."""
        await lost
        if self._task is not None:
            await asyncio.wait([self._task])
        self._parser = None  # it refers to its callbacks

    # Called by the parser.

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._complete:  # a second request in the same body
            raise RefusedRequest(400)

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        self._pieces += 1
        self._received += len(piece)
        if self._pieces > FREE_PIECES and self._received < self._pieces * PIECE_BYTES:
            self._end("flood")
        if self._exchange is not None and not self._ended:
            self._left -= len(piece)
            self._exchange.put(piece)

    def on_message_complete(self) -> None:
        """The request ends."""
        self._complete = True

    # From bytes to requests.

    def _advance(self) -> None:
        """Interpret the bytes that have arrived, up to the end of one request."""
        try:
            scope = None if self._exchange is not None else self._begin()
            if self._exchange is None:
                return
            try:
                self._read_body()
            finally:
                if scope is not None:
                    self._start(self._exchange, scope)
        except RefusedRequest as refused:
            self._refuse(*refused.args)

    def _begin(self) -> ASGIScope | None:
        """Read the head of the next request; None while it is incomplete."""
        data = self._take_head()
        if not data:
            self._wire.head_begins()
            return None
        head, length, headers = head_of(data)
        self._wire.becomes_busy()
        self._left, self._beside, self._parser = length, 0, None
        self._complete = not length and not head.chunked
        if head.chunked:
            self._parser = HttpRequestParser(self)
            parse(self._parser, data)
        self._exchange = Exchange(
            self._wire, head_only=head.method == "HEAD", keep_alive=head.keep_alive
        )
        if head.expects and not self._complete:
            self._wire.write(CONTINUE)
        return self._scope(head, headers)

    def _take_head(self) -> bytes:
        """The head of the next request once all of it has arrived, else nothing."""
        data, start = self._data, self._at
        if not data[start : start + 1].isupper():  # no method begins with this
            raise RefusedRequest(400)
        end = data.find(END, start, start + HEAD_BYTES)
        if end < 0:
            # Lines that end without a carriage return: no parser would accept what follows.
            if data.find(b"\n\n", start, start + HEAD_BYTES) >= 0:
                raise RefusedRequest(400)
            if len(data) - start >= HEAD_BYTES:
                raise RefusedRequest(431)
            return b""
        self._at = end + len(END)
        return data[start : self._at]

    def _read_body(self) -> None:
        """Pass bytes of the body to the app."""
        exchange = self._exchange
        assert exchange is not None
        start, ready = self._at, len(self._data)
        if self._parser is not None and not self._complete:
            self._at = ready
            self._read_chunks(self._parser, start)
        elif self._left:
            self._at = min(ready, start + self._left)
            if self._at > start:
                self.on_body(self._data[start : self._at])
            self._complete = not self._left
        if self._ended:
            return
        if self._complete:
            exchange.finish()
        if self._at < ready or exchange.is_behind:
            self._wire.pause()
        else:
            self._wire.resume()

    def _read_chunks(self, parser: HttpRequestParser, start: int) -> None:
        before = self._left
        try:
            parse(parser, memoryview(self._data)[start:])
        except RefusedRequest:
            if not self._complete:
                raise  # otherwise the error is in bytes after the body
        # ``_left`` counts the content, below zero: everything besides the content is limited.
        self._beside += self._at - start - (before - self._left)
        if self._beside > CHUNK_BYTES - self._left:
            raise RefusedRequest(400)

    def _scope(self, head: Head, headers: list[Header]) -> ASGIScope:
        wire = self._wire
        return {
            "type": "http",
            "http_version": head.version,
            "asgi": {"spec_version": "2.1", "version": "3.0"},
            "method": head.method,
            "scheme": wire.scheme,
            "path": head.path,
            "raw_path": head.raw_path,
            "query_string": head.query,
            "root_path": "",
            "headers": headers,
            "client": wire.client,
            "server": None,
            "state": {PEER: wire.peer, ARRIVED: perf_counter_ns()},
            "extensions": {},
        }

    # From requests to responses.

    def _start(self, exchange: Exchange, scope: ASGIScope) -> None:
        """Answer a request: at once if it is complete and the app can, else in a task."""
        loop = asyncio.get_running_loop()
        if self._begin_review is not None and exchange.complete and not self._ended:
            # Not at once: all sockets are read before the first of these requests is evaluated.
            loop.call_soon(self._reply, self._begin_review, exchange, scope)
        else:
            self._answer_later(exchange, partial(self._app, scope))

    def _reply(self, begin: BeginReview, exchange: Exchange, scope: ASGIScope) -> None:
        review = begin(scope)
        if review is None:
            self._answer_later(exchange, partial(self._app, scope))
            return
        if not self._ended and not self._wire.is_full:
            answer = review.now(exchange.body)
            if answer is not None:
                exchange.reply(answer)
                self._answered(exchange)
                return
        self._answer_later(exchange, review.later)

    def _answer_later(self, exchange: Exchange, app: _Answer) -> None:
        self._task = asyncio.get_running_loop().create_task(self._answer(exchange, app))

    async def _answer(self, exchange: Exchange, app: _Answer) -> None:
        """Let the app answer one request."""
        try:
            await app(exchange.receive, exchange.send)
        except Exception as error:
            context: dict[str, Any] = {
                "message": "an unexpected error ended a request",
                "exception": error,
            }
            asyncio.get_running_loop().call_exception_handler(context)
        finally:
            self._task = None
            self._answered(exchange)

    def _answered(self, exchange: Exchange) -> None:
        """Continue after the response was written, or could not be."""
        again = exchange.close()
        self._exchange = None
        if self._ended:
            return
        if again:
            self._next()
        else:
            self._end("answered")

    def _next(self) -> None:
        """Continue with the next request, which may have arrived already."""
        self._wire.becomes_idle()
        if not self._ended and self._at < len(self._data):
            self._advance()
        else:
            self._data, self._at = b"", 0
        if self._exchange is None and not self._ended:
            self._wire.resume()

    def _refuse(self, status: int) -> None:
        """Respond to an invalid request, and close the connection."""
        if self._ended:
            return
        if self._exchange is None or not self._exchange.started:
            self._wire.malformed(status)
            self._wire.write(b"HTTP/1.1 %d \r\ncontent-length: 0\r\n%b\r\n" % (status, CLOSE_LINE))
        self._end("answered")

    def _end(self, reason: CloseReason) -> None:
        """Close the connection; the app learns that its client is gone."""
        self._ended = True
        self._data, self._at = b"", 0
        if self._exchange is not None:
            self._exchange.disconnect()
        self._wire.end(reason)

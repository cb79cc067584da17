"""HTTP/1.0 and 1.1 on one connection: where each request begins and ends, and which are refused.

llhttp (of httptools, Node's parser) reads heads and bodies. It is given one request at a time: the
head as a whole, then at most the bytes that Content-Length announces. Both must agree where the
request ends, or the connection is closed, so that no bytes of one request are taken for another
(request smuggling). What RFC 9112 leaves to the server is refused: see ``_framing``.
``tests/server/test_http1_strictness.py`` compares the verdicts with those of h11.

There is no change of protocol, and no second request is read before the first one is answered.
"""

import asyncio
from time import perf_counter_ns
from typing import Any, Protocol
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from policyd.http.endpoints import ARRIVED, PEER
from policyd.http.limits import Peer
from policyd.http.messages import App, ASGIScope, AtOnce, Header
from policyd.server.network.connections import CloseReason
from policyd.server.network.exchange import CLOSE_LINE, Exchange, Writer
from policyd.server.network.pieces import BodyPieces

# Bytes and fields of the head of a request. An API server sends some 300 bytes in 7 fields.
HEAD_BYTES = 16 * 1024
HEAD_FIELDS = 128
# Digits of Content-Length: far beyond any body, and far below what a C library would overflow at.
LENGTH_DIGITS = 15
# What a chunked body may have beside its content: sizes, extensions and trailers.
CHUNK_BYTES = 16 * 1024
VERSIONS = ("1.1", "1.0")
FRAMING = frozenset(
    (b"content-length", b"host", b"connection", b"transfer-encoding", b"expect"),
)
END = b"\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 \r\n\r\n"


class Wire(Writer, Protocol):
    """What HTTP/1.1 needs of its connection; ``tcp.py`` implements it."""

    peer: Peer
    client: tuple[str, int]
    scheme: str

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


class _Refused(Exception):
    """The request is not acceptable; ``args[0]`` is the status of the response."""


class Http1:
    """The requests of one connection, one after the other."""

    def __init__(self, app: App, wire: Wire) -> None:
        self._app = app
        self._at_once: AtOnce | None = getattr(app, "at_once", None)
        self._wire = wire
        self._parser = HttpRequestParser(self)
        self._pieces = BodyPieces()
        # What has arrived and is not interpreted yet begins at ``_at``.
        self._data = b""
        self._at = 0
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        # Of the request that is being read.
        self._url = b""
        self._headers: list[Header] = []
        self._head_read = False
        self._complete = False
        self._chunked = False
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

    def go_away(self) -> None:
        """Do nothing: responses ask for another connection by a header."""

    def flush(self) -> None:
        """Do nothing: everything is written at once."""

    def give_up_untaken(self, before: float) -> None:
        """Do nothing: the connection limits the time of its only response."""

    async def run(self, lost: "asyncio.Future[None]") -> None:
        """Wait for the end of the connection, and then of the request that is under way."""
        await lost
        if self._task is not None:
            await asyncio.wait([self._task])
        del self._parser  # it refers to its callbacks

    # Called by the parser.

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._complete:  # within what it was given as one request
            raise _Refused(400)

    def on_url(self, url: bytes) -> None:
        """The target of the request, or a part of it."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One field of the head, or of the trailers, which nobody needs."""
        if not self._head_read:
            self._headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        """The head ends."""
        self._head_read = True

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        if self._pieces.are_too_small(len(piece)):
            self._end("flood")
        if self._exchange is not None and not self._ended:
            self._left -= len(piece)
            self._exchange.put(piece)

    def on_message_complete(self) -> None:
        """The request ends."""
        self._complete = True

    # From bytes to requests.

    def _advance(self) -> None:
        """Interpret what has arrived, up to the end of one request."""
        try:
            scope = None if self._exchange is not None else self._begin()
            if self._exchange is None:
                return
            try:
                self._read_body()
            finally:
                if scope is not None:
                    self._start(self._exchange, scope)
        except _Refused as refused:
            self._refuse(*refused.args)

    def _begin(self) -> ASGIScope | None:
        """Read the head of the next request; None while it is incomplete."""
        head = self._take_head()
        if not head:
            self._wire.head_begins()
            return None
        self._url, self._headers = b"", []
        self._head_read = self._complete = False
        self._beside = 0
        self._parse(head)
        version = self._parser.get_http_version()
        if version not in VERSIONS:
            raise _Refused(505)
        method = self._parser.get_method()
        # llhttp accepts further spaces, other protocols (RTSP) and none at all (HTTP/0.9).
        if not head.startswith(b"%b %b HTTP/%b\r\n" % (method, self._url, version.encode())):
            raise _Refused(400)
        keep_alive, expects = self._framing(version)
        self._wire.becomes_busy()
        # llhttp expects another protocol after Upgrade and CONNECT.
        keep_alive = keep_alive and not self._parser.should_upgrade()
        self._exchange = Exchange(self._wire, head_only=method == b"HEAD", keep_alive=keep_alive)
        if expects and (self._left or self._chunked):
            self._wire.write(CONTINUE)
        return self._scope(method, version)

    def _take_head(self) -> bytes:
        """The head of the next request once all of it has arrived, else nothing."""
        data, start = self._data, self._at
        if not data[start : start + 1].isupper():  # no method begins with this
            raise _Refused(400)
        end = data.find(END, start, start + HEAD_BYTES)
        if end < 0:
            # Lines that end without a carriage return: no parser would accept what follows.
            if data.find(b"\n\n", start, start + HEAD_BYTES) >= 0:
                raise _Refused(400)
            if len(data) - start >= HEAD_BYTES:
                raise _Refused(431)
            return b""
        self._at = end + len(END)
        return data[start : self._at]

    def _parse(self, data: bytes | memoryview) -> None:
        """Pass bytes to llhttp."""
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            pass  # at the end of a request, which is the last one
        except HttpParserError as error:
            # The preface of HTTP/2, and versions that llhttp does not know.
            wrong = str(error) in ("Pause on PRI/Upgrade", "Invalid HTTP version")
            raise _Refused(505 if wrong else 400) from None

    def _framing(self, version: str) -> tuple[bool, bool]:
        """Find out how the body is delimited; return whether another request may follow, and
        whether the client waits for status 100.

        Refused although some servers accept it: Transfer-Encoding beside Content-Length, repeated,
        in HTTP/1.0 or with any other coding than chunked; repeated Content-Length or Host.
        """
        if not self._head_read or len(self._headers) > HEAD_FIELDS:
            raise _Refused(431 if self._head_read else 400)
        length: bytes | None = None
        hosts = codings = 0
        keep_alive, expects = version == "1.1", False
        for name, value in self._headers:
            if name not in FRAMING:
                continue
            if name == b"content-length":
                if length is not None or not value.isdigit() or len(value) > LENGTH_DIGITS:
                    raise _Refused(400)
                length = value
            elif name == b"host":
                hosts += 1
            elif name == b"connection":
                if b"close" in (each.strip(b" \t") for each in value.lower().split(b",")):
                    keep_alive = False
            elif name == b"transfer-encoding":
                codings += 1
                if value.lower() != b"chunked":
                    raise _Refused(501)
            else:
                expects = version == "1.1" and b"100-continue" in value.lower()
        if hosts != 1 and (hosts or version == "1.1"):
            raise _Refused(400)
        if codings and (codings > 1 or length is not None or version != "1.1"):
            raise _Refused(400)
        self._chunked = codings == 1
        self._left = int(length or 0)
        # llhttp takes the body of a request with Upgrade or CONNECT for another protocol.
        if self._complete == bool(codings or self._left):
            raise _Refused(400)
        # Where a chunked body ended is known only to llhttp: what follows it is not interpreted.
        return keep_alive and not self._chunked, expects

    def _read_body(self) -> None:
        """Pass bytes of the body to the app."""
        exchange = self._exchange
        assert exchange is not None
        start, ready = self._at, len(self._data)
        if not exchange.complete and self._chunked:
            self._at = ready
            self._read_chunks(start)
        elif not exchange.complete and self._left:
            self._at = min(ready, start + self._left)
            if self._at > start:
                self._parse(memoryview(self._data)[start : self._at])
        if self._ended:
            return
        if self._complete == bool(self._left) and not self._chunked:
            raise _Refused(400)  # Content-Length and llhttp disagree
        if self._complete:
            exchange.finish()
        if self._at < ready or exchange.is_behind:
            self._wire.pause()
        else:
            self._wire.resume()

    def _read_chunks(self, start: int) -> None:
        before = self._left
        try:
            self._parse(memoryview(self._data)[start:])
        except _Refused:
            if not self._complete:
                raise  # otherwise it is what follows the body
        # ``_left`` counts the content, below zero: what is beside it must not be without bound.
        self._beside += self._at - start - (before - self._left)
        if self._beside > CHUNK_BYTES - self._left:
            raise _Refused(400)

    def _scope(self, method: bytes, version: str) -> ASGIScope:
        path, _, query = self._url.partition(b"?")
        text = path.decode("ascii")
        wire = self._wire
        return {
            "type": "http",
            "http_version": version,
            "asgi": {"spec_version": "2.1", "version": "3.0"},
            "method": method.decode("ascii"),
            "scheme": wire.scheme,
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": wire.client,
            "server": None,
            "state": {PEER: wire.peer, ARRIVED: perf_counter_ns()},
            "extensions": {},
        }

    # From requests to responses.

    def _start(self, exchange: Exchange, scope: ASGIScope) -> None:
        """Answer a request: at once if all of it is here and the app can, else by a task."""
        loop = asyncio.get_running_loop()
        if self._at_once is not None and exchange.complete and not self._ended:
            # Not now: all sockets are read before the first of these requests is evaluated.
            loop.call_soon(self._reply, self._at_once, exchange, scope)
        else:
            self._task = loop.create_task(self._answer(exchange, scope))

    def _reply(self, at_once: AtOnce, exchange: Exchange, scope: ASGIScope) -> None:
        if not self._ended and not self._wire.is_full:
            answer = at_once(scope, exchange.body)
            if answer is not None:
                exchange.reply(answer)
                self._answered(exchange)
                return
        self._task = asyncio.get_running_loop().create_task(self._answer(exchange, scope))

    async def _answer(self, exchange: Exchange, scope: ASGIScope) -> None:
        """Run the app for one request."""
        try:
            await self._app(scope, exchange.receive, exchange.send)
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
        """The response is written, or could not be: go on."""
        again = exchange.close()
        self._exchange = None
        if self._ended:
            return
        if again:
            self._next()
        else:
            self._end("answered")

    def _next(self) -> None:
        """Go on to the next request, which may have arrived already."""
        self._wire.becomes_idle()
        if not self._ended and self._at < len(self._data):
            self._advance()
        else:
            self._data, self._at = b"", 0
        if self._exchange is None and not self._ended:
            self._wire.resume()

    def _refuse(self, status: int) -> None:
        """Respond to what is no request, and close the connection."""
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

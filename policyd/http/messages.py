"""ASGI messages: reads a body within time limits, sends responses and errors.

Errors are JSON bodies ``{"error": ...}`` with the status of the ReviewError.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from io import BytesIO
from time import perf_counter_ns
from typing import Any
from urllib.parse import unquote

import orjson

from policyd.errors import ReviewError

ASGIScope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[ASGIScope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

JSON_TYPE = b"application/json"
CLOSE: Header = (b"connection", b"close")
RETRY: Header = (b"retry-after", b"1")
CHALLENGE: Header = (b"www-authenticate", b'Bearer realm="policyd"')

# How much is read, and for how long, after responding before the end of a body, so that a client
# that is still sending sees the response: closing a socket with unread data resets the connection.
LINGER_SECONDS = 2.0
LINGER_BYTES = 64 * 2**20
# Characters of a path in errors and in the log.
MAX_PATH_CHARS = 200


class Disconnected(Exception):
    """The client disconnected before its request was complete."""


class Body:
    """The body of a request while it arrives."""

    __slots__ = ("_first", "_receive", "_rest", "complete", "size", "stalled")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first = b""
        # One buffer: a body in many small pieces must not use many times its size.
        # Unlike a bytearray, a BytesIO hands its bytes over without a copy.
        self._rest: BytesIO | None = None
        self.size = 0
        self.complete = False
        self.stalled = False

    async def take(self) -> None:
        """Receive the next piece and record whether it was the last. Raises Disconnected."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.complete = True
            raise Disconnected
        piece = message.get("body", b"")
        if piece:
            self.size += len(piece)
            if self._rest is not None:
                self._rest.write(piece)
            elif self._first:
                self._rest = BytesIO()
                self._rest.write(self._first)
                self._rest.write(piece)
                self._first = b""
            else:
                self._first = piece
        self.complete = not message.get("more_body", False)

    def take_all(self) -> bytes:
        """Return the whole body and drop it here."""
        first, rest = self._first, self._rest
        self._first, self._rest = b"", None
        return first if rest is None else rest.getvalue()

    def abandon(self) -> None:
        """Drop the body, whose rest did not arrive in time."""
        self.stalled = True
        self.take_all()

    async def discard(self) -> None:
        """Read the rest and drop it, within limits."""
        self.take_all()
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while self.size < LINGER_BYTES and not self.complete:
                    await self.take()
                    self.take_all()
        except (TimeoutError, Disconnected):
            self.complete = True


class Deadlines:
    """Cancels tasks whose request does not arrive in time: one timer for all of them.

    ``asyncio.timeout`` would create a timer for each request, which costs more than reading its
    body.
    """

    # Seconds between two checks: the longest delay of a cancellation.
    EVERY = 0.05

    def __init__(self) -> None:
        self._moments: dict[asyncio.Task[Any], int] = {}
        self._cancelled: set[asyncio.Task[Any]] = set()
        self._ticking = False

    def begin(self, moment: int) -> asyncio.Task[Any]:
        """Cancel the current task after ``moment``, a ``perf_counter_ns`` time, unless ``end`` is
        called first.
        """
        task = asyncio.current_task()
        assert task is not None
        self._moments[task] = moment
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(self.EVERY, self._tick)
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        """The request has arrived, or has ended."""
        self._moments.pop(task, None)

    def is_over(self, task: asyncio.Task[Any]) -> bool:
        """Whether this object cancelled ``task``; the cancellation is then undone."""
        if task not in self._cancelled:
            return False
        self._cancelled.discard(task)
        task.uncancel()
        return True

    def _tick(self) -> None:
        now = perf_counter_ns()
        for task in [task for task, moment in self._moments.items() if moment < now]:
            del self._moments[task]
            self._cancelled.add(task)
            task.cancel()
        self._ticking = bool(self._moments)
        if self._ticking:
            asyncio.get_running_loop().call_later(self.EVERY, self._tick)


async def respond(
    scope: ASGIScope,
    send: Send,
    status: int,
    body: bytes,
    *,
    content_type: bytes = JSON_TYPE,
    headers: tuple[Header, ...] = (),
    closing: bool = False,
    more: bool = False,
) -> None:
    """Send a response; with ``more`` the stream stays open after the whole body is sent."""
    fields = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]
    if closing and scope["http_version"] != "2":
        fields.append(CLOSE)
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def refuse(
    scope: ASGIScope, body: Body, send: Send, error: ReviewError, *, closing: bool
) -> None:
    """Respond with an error, and let a client that is still sending see it."""
    content = orjson.dumps({"error": str(error)})
    headers: tuple[Header, ...] = ()
    if error.status == 503:
        headers = (RETRY,)
    elif error.status == 405:
        headers = ((b"allow", b"POST"),)
    elif error.status == 401:
        headers = (CHALLENGE,)
    closing = closing or body.stalled
    linger = not body.complete and not body.stalled
    await respond(scope, send, error.status, content, headers=headers, closing=closing, more=linger)
    if linger:
        await body.discard()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def peer_of(scope: ASGIScope) -> str:
    """Return the client's address; "" if the server does not know it."""
    return (scope.get("client") or ("",))[0]


def path_of(scope: ASGIScope) -> str:
    """Return the beginning of the path of a request."""
    return unquote(scope["path"])[:MAX_PATH_CHARS]


def nothing_at(scope: ASGIScope) -> ReviewError:
    """Return the error for a path that this port does not serve."""
    return ReviewError(f"nothing is served at {path_of(scope)} on this port", 404)


async def not_found(scope: ASGIScope, receive: Receive, send: Send, *, closing: bool) -> None:
    """Respond 404, also to paths that only the other port serves."""
    error = nothing_at(scope)
    await refuse(scope, Body(receive), send, error, closing=closing)

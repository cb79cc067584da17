"""Limits on the responses of an API server: their size, encoding and form.

Independent of the query. A response beyond a limit raises ``InvalidAnswer`` and is dropped.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import orjson

from policyd._core.json.scan import JSONScan
from policyd._core.json.tree import is_ordinary, normal
from policyd.admission import partial
from policyd.errors import ReviewError
from policyd.json_types import JSONObject

# Bytes of one response to the server. The API server accepts objects of at most 3 MiB, so every
# object fits; lists are read in pages. Decoded Python objects are at most ten times larger.
MAX_ANSWER_BYTES = 8 * 2**20
# Bytes of all pages of one lookup of params.
MAX_LIST_BYTES = 16 * 2**20
# Bytes of one response to a command, which reads pages of 500 objects: three times as many as the
# Pods of such a page usually have. Lists of larger objects are read in smaller pages.
MAX_PAGE_BYTES = 32 * 2**20
# Bytes of one event of a watch: an object of at most 3 MiB, its type and the end of the line.
MAX_EVENT_BYTES = 3 * 2**20 + 1024
# Nesting of objects and arrays: the same limit as for AdmissionReviews.
_DEPTH = 1000


class InvalidAnswer(ValueError):
    """A response exceeds a limit or does not fit the query; retrying is useless."""


class UndecodableAnswer(InvalidAnswer):
    """A response is not JSON, or nested too deeply."""


class AnswerTooLarge(InvalidAnswer):
    """A response has more bytes than its limit."""


class Budget:
    """Bytes that all responses of one lookup may have together."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def spend(self, size: int) -> None:
        """Count a response; raises InvalidAnswer if there are too many bytes."""
        self._left -= size
        if self._left < 0:
            raise AnswerTooLarge(f"the response is larger than {self._most} bytes")


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends requests with ``inner``, calls ``before`` before each, and stops reading a response
    after ``most`` bytes. None means no limit: a watch limits each of its events instead.

    Requests responses without Content-Encoding and refuses others, so that the bytes counted here
    are the bytes in memory: a compressed response may be a thousand times larger.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        most: int | None,
        before: Callable[[], object] | None = None,
    ) -> None:
        self._inner = inner
        self._most = most
        self._before = before

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response, not yet read."""
        if self._before is not None:
            self._before()
        request.headers["Accept-Encoding"] = "identity"
        connecting = _Connecting()
        request.extensions = {**request.extensions, "trace": connecting}
        try:
            answer = await self._inner.handle_async_request(request)
        except asyncio.CancelledError:
            await connecting.close()
            raise
        try:
            self._check(answer.headers)
        except InvalidAnswer:
            await answer.aclose()
            raise
        if self._most is None or not isinstance(answer.stream, httpx2.AsyncByteStream):
            return answer
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Limited(answer.stream, self._most),
            extensions=answer.extensions,
        )

    def _check(self, headers: httpx2.Headers) -> None:
        encoding = headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            raise InvalidAnswer(
                f"expected no Content-Encoding in the response, got {encoding[:40]!r}"
            )
        length = headers.get("Content-Length", "")
        most = self._most
        if most is None or not (length.isascii() and length.isdigit()):
            return
        if int(length[:20]) > most:
            raise AnswerTooLarge(f"the response is larger than {most} bytes")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _Connecting:
    """Closes the connection of a request that is cancelled during the TLS handshake, which
    httpcore2 leaves open. httpcore2 calls this object at each step of the request.
    """

    def __init__(self) -> None:
        self._connection: Any = None

    async def __call__(self, step: str, info: dict[str, Any]) -> None:
        if step == "connection.connect_tcp.complete":
            self._connection = info["return_value"]
        elif step == "connection.start_tls.complete":
            self._connection = None

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A body that raises InvalidAnswer after ``most`` bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._budget = Budget(most)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._budget.spend(len(part))
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def json_object(answer: httpx2.Response, kind: str) -> JSONObject:
    """The JSON object in a response, whose kind must end with ``kind``; raises InvalidAnswer for
    others.

    Without the check of the kind, an empty object would pass as a namespace without labels, which
    no namespaceSelector selects.
    """
    found = decoded(answer.content)
    if not str(found.get("kind")).endswith(kind):
        raise InvalidAnswer(
            f"expected a response of kind {kind}, got {str(found.get('kind'))[:40]!r}"
        )
    return found


def decoded(data: bytes) -> JSONObject:
    """The JSON object in these bytes; raises InvalidAnswer for anything else. Objects of a list
    that are nested too deeply are shortened (``partial.read_list``), so that they do not hide the
    others.
    """
    try:
        found = orjson.loads(data)
        found = found if is_ordinary(data, _DEPTH) else normal(found, _DEPTH)
    except (orjson.JSONDecodeError, ReviewError):
        found = partial.read_list(data)
        if found is None:
            raise UndecodableAnswer(_problem(data)) from None
    if not isinstance(found, dict):
        raise InvalidAnswer("the response is not a JSON object")
    return found


def _problem(data: bytes) -> str:
    scan = JSONScan(data)
    if scan.problem() >= 0:
        return "the response is not JSON"
    if scan.depth > _DEPTH:
        return f"the response is nested deeper than {_DEPTH} levels"
    return "the response is not UTF-8, or has a number that is too large"


def named(found: JSONObject, name: str) -> JSONObject:
    """Return the object if it has this name; raises InvalidAnswer for another name."""
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("name") != name:
        raise InvalidAnswer(f"the response is not the object named {name!r}")
    return found

"""Bounds on an API server's answers: their size, their encoding and their form.

Knows nothing of what was asked. Whatever breaks a bound raises ``Unfit``; nothing of it is kept.
"""

from collections.abc import AsyncIterator

import httpx2
import orjson

from policyd._core.json.tree import is_ordinary, normal
from policyd.errors import ReviewError
from policyd.json_types import JSONObject

# Bytes of one answer to the server. The API server accepts objects of 3 MiB at most, so every
# object fits; a list is read in pages. As Python objects it is ten times that at worst.
MAX_ANSWER_BYTES = 8 * 2**20
# Bytes of all pages that answer one question for params.
MAX_LIST_BYTES = 16 * 2**20
# Bytes of one answer to a command that a person runs, which reads pages of 500 objects.
MAX_PAGE_BYTES = 256 * 2**20
# Levels of braces and brackets, as in a review.
_DEPTH = 1000


class InvalidAnswer(ValueError):
    """An answer breaks a bound, or is not what was asked for; asking again is of no use."""


class Budget:
    """Bytes that the answers to one question may have together."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def spend(self, size: int) -> None:
        """Count an answer; Unfit if there are too many bytes."""
        self._left -= size
        if self._left < 0:
            raise InvalidAnswer(f"the answer is larger than {self._most} bytes")


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends requests by ``inner`` and stops reading an answer of more than ``most`` bytes.

    Asks for answers without Content-Encoding and refuses others, so that the bytes counted here
    are the bytes that are kept: a compressed answer may be a thousand times larger.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, most: int) -> None:
        self._inner = inner
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, not yet read."""
        request.headers["Accept-Encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        try:
            self._check(answer.headers)
        except InvalidAnswer:
            await answer.aclose()
            raise
        if not isinstance(answer.stream, httpx2.AsyncByteStream):
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
                f"the answer has the Content-Encoding {encoding[:40]!r}, expected none"
            )
        length = headers.get("Content-Length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > self._most:
            raise InvalidAnswer(f"the answer is larger than {self._most} bytes")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A body that ends with Unfit after ``most`` bytes."""

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
    """The JSON object in an answer, whose kind ends in ``kind``; Unfit where it holds none.

    The kind is checked because an empty object would pass for a namespace without labels, which
    no namespaceSelector selects.
    """
    data = answer.content
    try:
        found = orjson.loads(data)
        found = found if is_ordinary(data, _DEPTH) else normal(found, _DEPTH)
    except orjson.JSONDecodeError:
        raise InvalidAnswer("the answer is not JSON") from None
    except ReviewError:
        raise InvalidAnswer(f"the answer is nested deeper than {_DEPTH} levels") from None
    if not isinstance(found, dict):
        raise InvalidAnswer("the answer is not a JSON object")
    if not str(found.get("kind")).endswith(kind):
        raise InvalidAnswer(
            f"expected an answer of kind {kind}, got {str(found.get('kind'))[:40]!r}"
        )
    return found


def named(found: JSONObject, name: str) -> JSONObject:
    """The object, if it has this name; Unfit where it is another one."""
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("name") != name:
        raise InvalidAnswer(f"the answer is not the object named {name!r}")
    return found

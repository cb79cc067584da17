"""Reads and writes plain JSON objects of an API server by their paths.

A path is the API's, such as ``api/v1/namespaces/shop/configmaps/a``. Every failure is an
ObjectError. Nothing is cached; ``watching`` keeps lists in step.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Literal, NamedTuple

import httpx2
import orjson
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError as KubeConfigError

from policyd.cluster.bounds import MAX_ANSWER_BYTES, AnswerTooLarge, InvalidAnswer, decoded
from policyd.cluster.client import (
    LONGEST_PAUSE,
    PASSING,
    PAUSES,
    PROBLEMS,
    SocketOption,
    bounded_client,
    describe_for_operator,
    trusted,
)
from policyd.errors import ConfigError
from policyd.json_types import JSONObject

# Objects in one page of a list, as many as client-go and kubectl request.
PAGE = 500
JSON_TYPE = "application/json"
_APPLY_TYPE = "application/apply-patch+yaml"  # YAML, and therefore also JSON
_DRY_RUN = {"dryRun": "All"}
# Bytes of an error that ends a watch before it begins, and characters of a message.
_MAX_ERROR_BYTES = 2**20
_LONGEST = 4000
# The API server derives the manager of fields from this if a request names none.
_AGENT = "policyd"
# When to retry a failed request. ``always``: it changes nothing, or repeating it changes nothing
# more. ``refused``: only if the API server did not start to process it.
Retry = Literal["always", "refused"]
_NOT_BEGUN = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


def _keep_alive() -> tuple[SocketOption, ...]:
    """Options that detect a lost peer after half a minute; some systems only have the first."""
    wanted = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in wanted.items():
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return tuple(options)


class ObjectError(Exception):
    """A request to the API server failed; the message names the request and the reason.

    ``status`` is the HTTP status of its response, 0 if there was none; ``reason`` is the reason of
    its Status (Conflict, NotFound, …); ``body`` is the Status; ``retry_after`` are the seconds that
    it requests before a retry.
    """

    def __init__(
        self,
        message: str,
        status: int = 0,
        reason: str = "",
        body: JSONObject | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.body = body or {}
        self.retry_after = retry_after

    @property
    def is_of_ending_namespace(self) -> bool:
        """Whether nothing can be created because the namespace is being deleted."""
        causes = (self.body.get("details") or {}).get("causes") or ()
        return any(each.get("reason") == "NamespaceTerminating" for each in causes)


class UnreadableAnswer(ObjectError):
    """The API server's answer is not an object."""


class ObjectClient:
    """Requests to one API server. Created anywhere, used inside of one event loop.

    ``timeout`` limits each request with all its retries, which come after these ``pauses``;
    ``most`` limits the bytes of a response.
    """

    def __init__(
        self,
        config: SingleConfig,
        timeout: float,
        most: int = MAX_ANSWER_BYTES,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._timeout = timeout
        self._pauses = pauses
        self.server = str(config.cluster.server)
        try:
            context = trusted(config)
            self._client = bounded_client(config, context, timeout, most)
            # A watch occupies one connection for minutes, mostly silent. The number of followed
            # lists limits the connections: a list that waited for one would be outdated.
            self._streams = bounded_client(
                config, context, timeout, None, _keep_alive(), watching=True
            )
        except (KubeConfigError, ssl.SSLError, OSError, ValueError) as error:
            raise ConfigError(f"cannot use the cluster {config.cluster.server}: {error}") from None
        self._streams.timeout = httpx2.Timeout(timeout, read=None)
        for each in (self._client, self._streams):
            each.headers["User-Agent"] = _AGENT

    async def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = JSON_TYPE
    ) -> JSONObject:
        """The object at a path, in the form that ``accept`` names."""
        return decoded_answer("GET", path, await self.read(path, query or {}, accept))

    async def list_pages(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = JSON_TYPE
    ) -> AsyncIterator[JSONObject]:
        """The pages of a list, in the form that ``accept`` names. If the API server's snapshot of
        the list expires meanwhile, the list continues with the current objects.
        """
        asked = {"limit": str(PAGE), **(query or {})}
        expired = False
        while True:
            try:
                page = await self.get(path, asked, accept)
            except ObjectError as error:
                later = (error.body.get("metadata") or {}).get("continue")
                if error.status != HTTPStatus.GONE or not later or expired:
                    raise
                asked["continue"], expired = later, True
                continue
            expired = False
            yield page
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return
            asked["continue"] = following

    async def create(self, path: str, body: JSONObject, *, dry_run: bool = False) -> JSONObject:
        """Create an object; ``path`` is the path of its list. Returns the stored object, or with
        ``dry_run`` the object that would be stored.
        """
        return await self._write(_request("POST", path, _DRY_RUN if dry_run else {}, body))

    async def replace(self, path: str, body: JSONObject) -> JSONObject:
        """Replace an object; with a resourceVersion in ``body`` only if it is the current one."""
        return await self._write(_request("PUT", path, {}, body))

    async def apply(
        self, path: str, body: JSONObject, manager: str, *, force: bool, dry_run: bool = False
    ) -> JSONObject:
        """Server-side apply: create the object, or change the fields in ``body``.

        ``force`` takes fields from other managers; without it they cause a Conflict.
        """
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        if dry_run:
            query |= _DRY_RUN
        return await self._write(_request("PATCH", path, query, body, _APPLY_TYPE))

    async def delete(self, path: str, *, uid: str = "", resource_version: str = "") -> JSONObject:
        """Delete an object, if it has this uid and resourceVersion."""
        given = {"uid": uid, "resourceVersion": resource_version}
        conditions = {name: value for name, value in given.items() if value}
        options: JSONObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if conditions:
            options["preconditions"] = conditions
        return await self._write(_request("DELETE", path, {}, options))

    async def delete_collection(self, path: str, label_selector: str) -> JSONObject:
        """Delete the objects of a list that match a selector, which must not be empty: an empty
        selector matches everything.
        """
        if not label_selector:
            raise ValueError("expected a label selector; an empty one deletes all objects")
        query = {"labelSelector": label_selector}
        return await self._write(_request("DELETE", path, query, None))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        await self._streams.aclose()

    async def read(self, path: str, query: Mapping[str, str], accept: str = JSON_TYPE) -> bytes:
        """The raw body at a path; raises AnswerTooLarge, and ObjectError for other failures."""
        return await self._sent(_Request("GET", path, query, None, {"Accept": accept}, "always"))

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], accept: str = JSON_TYPE
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The parts of a body as they arrive, until the context ends. Opening it raises
        ObjectError; reading it raises the errors of the client.
        """
        request = self._streams.build_request(
            "GET", _url(path), params=dict(query), headers={"Accept": accept}
        )
        response = None
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._streams.send(request, stream=True)
                if response.status_code != HTTPStatus.OK:
                    raise refusal("WATCH", path, response, await _start(response))
        except TimeoutError:
            raise _late("WATCH", path) from None
        except PROBLEMS as error:
            raise ObjectError(
                f"WATCH {_url(path)}: {describe_for_operator(error, self.server)}"
            ) from None
        else:
            yield response.aiter_raw()
        finally:
            if response is not None:
                await response.aclose()

    async def _write(self, request: "_Request") -> JSONObject:
        return decoded_answer(request.method, request.path, await self._sent(request))

    async def _sent(self, request: "_Request") -> bytes:
        """The body of the response; retries the request if its ``retry`` permits."""
        pauses = iter(self._pauses)
        last: ObjectError | None = None
        try:
            async with asyncio.timeout(self._timeout):
                while True:
                    try:
                        response = await self._client.request(
                            request.method,
                            _url(request.path),
                            params=dict(request.query),
                            content=request.body,
                            headers=request.headers,
                        )
                        if response.is_success:
                            return response.content
                        last = refusal(request.method, request.path, response, response.content)
                        again = last.status in _repeatable(request.retry)
                    except AnswerTooLarge:
                        raise
                    except PROBLEMS as error:
                        why = describe_for_operator(error, self.server)
                        last = ObjectError(f"{request.method} {_url(request.path)}: {why}")
                        always = request.retry == "always"
                        again = isinstance(error, httpx2.TransportError if always else _NOT_BEGUN)
                    pause = next(pauses, None)
                    if not again or pause is None:
                        raise last
                    await asyncio.sleep(max(pause, min(last.retry_after, LONGEST_PAUSE)))
        except TimeoutError:
            raise last or _late(request.method, request.path) from None


class _Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None
    headers: Mapping[str, str]
    retry: Retry


def _request(
    method: str,
    path: str,
    query: Mapping[str, str],
    body: JSONObject | None,
    content: str = JSON_TYPE,
) -> _Request:
    """A request that changes an object. Applying the same fields again changes nothing."""
    sent = None if body is None else orjson.dumps(body)
    headers = {"Accept": JSON_TYPE, **({} if sent is None else {"Content-Type": content})}
    return _Request(
        method, path, query, sent, headers, "always" if content == _APPLY_TYPE else "refused"
    )


def refusal(method: str, path: str, response: httpx2.Response, data: bytes) -> ObjectError:
    """The error of a response with an error status."""
    try:
        body = decoded(data)
    except PROBLEMS:
        body = {}
    code = response.status_code
    message = str(body.get("message") or response.reason_phrase)[:_LONGEST]
    after = response.headers.get("Retry-After", "")
    return ObjectError(
        f"{method} {_url(path)}: the API server answered {code}: {message}",
        code,
        str(body.get("reason") or ""),
        body,
        float(after) if after.isascii() and after.isdigit() else 0.0,
    )


async def or_none(answer: Awaitable[JSONObject]) -> JSONObject | None:
    """Return the answer to a request; None if the API server has no such object."""
    try:
        return await answer
    except ObjectError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def decoded_answer(method: str, path: str, data: bytes) -> JSONObject:
    """The JSON object in a response; raises UnreadableAnswer for anything else."""
    try:
        return decoded(data)
    except InvalidAnswer as error:
        raise UnreadableAnswer(f"{method} {_url(path)}: {error}") from None


def _repeatable(retry: Retry) -> frozenset[HTTPStatus] | tuple[HTTPStatus, ...]:
    """The statuses after which a request may be sent again."""
    return PASSING if retry == "always" else (HTTPStatus.TOO_MANY_REQUESTS,)


def _url(path: str) -> str:
    return f"/{path.lstrip('/')}"


def _late(method: str, path: str) -> ObjectError:
    return ObjectError(f"{method} {_url(path)}: the API server did not answer in time")


async def _start(response: httpx2.Response) -> bytes:
    """The first bytes of an error."""
    data = bytearray()
    async for part in response.aiter_raw():
        data += part
        if len(data) > _MAX_ERROR_BYTES:
            break
    return bytes(data)

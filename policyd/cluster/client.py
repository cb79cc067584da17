"""The connection to an API server: its credentials, timeouts and retries.

Lightkube reads configurations and tokens, and a Pod's token again if the API server refuses it;
this file configures lightkube. Other modules implement the lookups and limit the responses.
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2
import msgspec
from lightkube.config.client_adapter import user_auth, verify_cluster
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ApiError
from lightkube.core.exceptions import ConfigError as KubeConfigError
from lightkube.core.generic_client import transform_exception

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.cluster import access, namespaces, params
from policyd.cluster.bounds import (
    MAX_ANSWER_BYTES,
    MAX_LIST_BYTES,
    BoundedTransport,
    Budget,
    InvalidAnswer,
    json_object,
    named,
)
from policyd.cluster.cache import LookupCache
from policyd.cluster.params import Get
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served

Answer = TypeVar("Answer")
# The level, name and value of a socket option.
SocketOption = tuple[int, int, int]
# Called after each request: whether it was answered, and after how many nanoseconds.
ReportLookup = Callable[[bool, int], None]
# Called before each request.
BeforeRequest = Callable[[], object]

_TIMED_OUT = Failure("the API server did not answer in time")

# API servers close idle connections after 90 s or more.
KEEP_ALIVE = 60.0
# For each kind of lookup. The kinds share no connections: a hanging authorizer behind the API
# server must not block lookups of namespaces and params.
CONNECTIONS = 64
# Lookups change nothing, so a failed one is retried: after these pauses in seconds.
PAUSES = (0.05, 0.25)
# The longest pause that Retry-After can cause: all callers of a shared lookup wait for it, and the
# API server may respond again long before. Its own overload protection requests 1 s.
LONGEST_PAUSE = 1.0
# Characters of an error in a denial: messages of an API server may be as long as a response.
_LONGEST = 500
PASSING = frozenset((
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
))  # fmt: skip
# All errors of a response, or of reading credentials for a lookup. Lightkube also raises KeyError
# and ValueError for a response without Content-Type or JSON; the last four are raised for responses
# that have an unexpected form or are nested too deeply.
PROBLEMS = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    KubeConfigError,
    OSError,
    msgspec.MsgspecError,
    KeyError,
    ValueError,
    AttributeError,
    TypeError,
    RecursionError,
)


class ClusterClient:
    """Queries one API server. Created before the event loop runs, used inside of it.

    ``timeout`` limits each part of a response, and ``whole`` a lookup with all retries and pauses
    (0: the same); ``most`` limits the bytes of one response. ``before`` is called before each
    request; if it waits, so does the whole event loop.
    """

    def __init__(
        self,
        config: SingleConfig,
        timeout: float,
        most: int = MAX_ANSWER_BYTES,
        whole: float = 0.0,
        before: BeforeRequest | None = None,
    ) -> None:
        self.config = config
        self._whole = whole or timeout
        try:
            context = trusted(config)
            self._of_access, self._of_namespaces, self._of_params = (
                bounded_client(config, context, timeout, most, before=before) for _ in range(3)
            )
        except (KubeConfigError, ssl.SSLError, OSError, ValueError) as error:
            raise ConfigError(f"cannot use the cluster {config.cluster.server}: {error}") from None
        self._namespaces = LookupCache(self._namespace)
        self._kinds = LookupCache(self._kind, params.KIND_SECONDS)
        self._params = LookupCache(self._objects)

    async def may(self, attributes: Attributes) -> AccessDecision | Failure:
        """Check whether a user may do something; raises nothing."""
        return await self._query(lambda: self._review(attributes))

    async def _review(self, attributes: Attributes) -> AccessDecision:
        answer = await self._of_access.post(access.PATH, json=access.review_of(attributes))
        raise_for_status(answer)
        return access.decision(json_object(answer, access.KIND))

    def known_namespace(self, name: str) -> JSONObject | None:
        """The Namespace object if it is cached, else None."""
        return self._namespaces.known(name)

    async def namespace(self, name: str) -> JSONObject | Failure:
        """Look up a Namespace object; raises nothing."""
        return await self._namespaces.get(name)

    async def _namespace(self, name: str) -> JSONObject | Failure:
        return await self._query(lambda: self._read_namespace(name))

    async def _read_namespace(self, name: str) -> JSONObject:
        answer = await self._of_namespaces.get(f"{namespaces.PATH}/{quote(name, safe='')}")
        raise_for_status(answer)
        return named(json_object(answer, "Namespace"), name)

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """The resource of a kind if it is built in or cached, else None."""
        return params.builtin(question) or self._kinds.known(question)

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """Look up the resource of a kind; empty if it is not served. Raises nothing."""
        known = self.known_kind(question)
        return await self._kinds.get(question) if known is None else known

    async def _kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        return await self._query(lambda: params.served(self._pages(), question))

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        """The objects if they are cached, else None."""
        return self._params.known(question)

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Look up objects of a kind; raises nothing."""
        return await self._params.get(question)

    async def _objects(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        kinds = await self.kind(KindOf(question.api_version, question.kind))
        if isinstance(kinds, Failure) or not kinds:
            return kinds if isinstance(kinds, Failure) else ()
        return await self._query(lambda: params.read(self._pages(), kinds[0], question))

    def _pages(self) -> Get:
        """Return a function that reads the responses of one lookup of params."""
        budget = Budget(MAX_LIST_BYTES)

        async def get(path: str, query: Mapping[str, str], kind: str) -> JSONObject | None:
            answer = await self._of_params.get(path.lstrip("/"), params=dict(query))
            if answer.status_code == HTTPStatus.NOT_FOUND:
                return None
            raise_for_status(answer)
            budget.spend(len(answer.content))
            return json_object(answer, kind)

        return get

    async def close(self) -> None:
        """Close all connections."""
        for each in (self._namespaces, self._kinds, self._params):
            await each.close()
        for connections in (self._of_access, self._of_namespaces, self._of_params):
            await connections.aclose()

    def _describe(self, error: Exception) -> str:
        """The error for a denial, without the address, which users must not see."""
        return describe(error)

    async def _query(self, send: Callable[[], Awaitable[Answer]]) -> Answer | Failure:
        """The result of ``send``, with retries after errors that may be temporary."""
        pauses = iter(PAUSES)
        last = _TIMED_OUT
        try:
            async with asyncio.timeout(self._whole):
                while True:
                    try:
                        return await send()
                    except PROBLEMS as error:
                        last = Failure(self._describe(error))
                        wait = passing(error, next(pauses, None))
                    if wait is None:
                        return last
                    await asyncio.sleep(wait)
        except TimeoutError:
            return last


def raise_for_status(answer: httpx2.Response) -> None:
    """Raise an error for an error status, with the API server's message if it sent one."""
    try:
        answer.raise_for_status()
    except httpx2.HTTPStatusError as error:
        raise transform_exception(error) from None


def trusted(config: SingleConfig) -> ssl.SSLContext:
    """The TLS context with the CAs and the client certificate of the configuration."""
    user = config.user or User()
    return verify_cluster(config.cluster, user, config.abs_file, trust_env=False)


def bounded_client(
    config: SingleConfig,
    context: ssl.SSLContext,
    timeout: float,
    most: int | None,
    options: Sequence[SocketOption] = (),
    *,
    before: BeforeRequest | None = None,
    watching: bool = False,
) -> httpx2.AsyncClient:
    """Connections for one kind of lookup, with limits on their responses. Objects are returned as
    they are sent: typed models drop unknown fields. ``watching``: requests may keep connections
    for any time, and there may be any number of them.
    """
    limits = httpx2.Limits(
        max_connections=None if watching else CONNECTIONS,
        max_keepalive_connections=CONNECTIONS,
        keepalive_expiry=KEEP_ALIVE,
    )
    # No proxy, no .netrc: only the configuration counts.
    inner = httpx2.AsyncHTTPTransport(
        verify=context, limits=limits, trust_env=False, socket_options=options or None
    )
    transport: Any = BoundedTransport(inner, most, before)
    # lightkube's own constructor reads all CAs again for each client, and uses them for none.
    return httpx2.AsyncClient(
        base_url=config.cluster.server,
        auth=user_auth(config.user),
        timeout=timeout,
        trust_env=False,
        transport=transport,
    )


def passing(error: Exception, pause: float | None) -> float | None:
    """Seconds until a retry; None if a retry is useless."""
    if pause is None:
        return None
    if isinstance(error, httpx2.HTTPStatusError):
        if error.response.status_code not in PASSING:
            return None
        retry_after = error.response.headers.get("Retry-After", "")
        # Digits of other scripts and dates are not supported: API servers send neither.
        seconds = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
        return min(max(pause, seconds), LONGEST_PAUSE)
    return pause if isinstance(error, httpx2.TransportError) else None


def describe_for_operator(error: Exception, server: str) -> str:
    """The error with the address, and the cause if the connection failed."""
    if isinstance(error, httpx2.TransportError) and not isinstance(
        error, httpx2.LocalProtocolError
    ):
        return f"the API server cannot be reached at {server}: {_cause(error)}"[:_LONGEST]
    return describe(error)


def _cause(error: BaseException) -> str:
    """Why a connection failed, in the system's words."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {seen.verify_message}"
        if isinstance(seen, OSError) and seen.errno:
            return os.strerror(seen.errno) if seen.errno > 0 else str(seen.strerror)
        several = seen.exceptions if isinstance(seen, BaseExceptionGroup) else ()
        seen = several[0] if several else seen.__cause__ or seen.__context__
    return str(error) or type(error).__name__


def describe(error: Exception) -> str:
    """The error, for a denial."""
    if isinstance(error, httpx2.HTTPStatusError):
        found = f"the API server answered {error.response.status_code}"
        if isinstance(error, ApiError):
            found += f": {error}"
    elif isinstance(error, httpx2.LocalProtocolError):  # its message has the whole token
        found = "no request can be sent: the token has a character that headers do not allow"
    elif isinstance(error, httpx2.TransportError):
        found = f"the API server cannot be reached: {str(error) or type(error).__name__}"
    else:
        if isinstance(error, RecursionError):
            error = InvalidAnswer("the response is nested too deep")
        found = f"the lookup in the API server failed: {error!r}"
    return found[:_LONGEST]

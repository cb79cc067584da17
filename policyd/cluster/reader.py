"""A synchronous client of an API server for commands: reads any object, and checks permissions.

Sends only GET requests and POST of a SubjectAccessReview.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
from lightkube.config.kubeconfig import SingleConfig

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.cluster import bounds
from policyd.cluster.bounds import AnswerTooLarge, InvalidAnswer
from policyd.cluster.client import PASSING, ClusterClient, describe_for_operator
from policyd.cluster.listing import ApiReadError
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served

Answer = TypeVar("Answer")
# The timeout of a page of 500 objects, as a multiple of that for a part of a response.
WHOLE = 10
# Decisions in the cache: policies may query them for each object.
MOST_DECISIONS = 1_000


class _Client(ClusterClient):
    """A client that also reads any path."""

    async def get(self, path: str, query: Mapping[str, str]) -> httpx2.Response | Failure:
        """The response, or a Failure; raises only ApiReadError if the response is too large."""
        return await self._query(lambda: self._get(path, query))

    def _describe(self, error: Exception) -> str:
        return describe_for_operator(error, self.config.cluster.server)

    async def _get(self, path: str, query: Mapping[str, str]) -> httpx2.Response:
        try:
            answer = await self._of_params.get(path.lstrip("/"), params=dict(query))
        except AnswerTooLarge as error:
            raise ApiReadError(str(error), too_large=True) from None
        if answer.status_code in PASSING:
            answer.raise_for_status()
        return answer


class ClusterReader:
    """Usable only outside an event loop: it has its own while it is open. ``before`` is called
    before each request.
    """

    def __init__(
        self, config: SingleConfig, timeout: float, before: Callable[[], object] | None = None
    ) -> None:
        most = bounds.MAX_PAGE_BYTES
        self._client = _Client(config, timeout, most, WHOLE * timeout, before)
        self._runner = asyncio.Runner()
        self._decisions: dict[Attributes, AccessDecision | Failure] = {}

    def __enter__(self) -> "ClusterReader":
        return self

    def __exit__(self, *error: object) -> None:
        self._run(self._client.close())
        self._runner.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """The JSON object at a path; raises ApiReadError if there is none."""
        answer = self._run(self._client.get(path, query or {}))
        if isinstance(answer, Failure):
            raise ApiReadError(answer.why)
        code = answer.status_code
        try:
            found = bounds.decoded(answer.content)
        except InvalidAnswer as error:
            if code == HTTPStatus.OK:
                raise ApiReadError(str(error), code) from None
            found = {}
        if code != HTTPStatus.OK:
            message = found.get("message") or answer.reason_phrase
            raise ApiReadError(f"the API server answered {code}: {message}", code, found)
        return found

    def version(self) -> str:
        """The version that the API server reports; raises ApiReadError if it does not respond."""
        return str(self.get("version").get("gitVersion"))

    def check(self, attributes: Attributes) -> AccessDecision | Failure:
        """The decision of the API server's authorizers, which is cached for a while."""
        known = self._decisions.get(attributes)
        if known is None:
            if len(self._decisions) >= MOST_DECISIONS:
                self._decisions.clear()
            known = self._decisions[attributes] = self._run(self._client.may(attributes))
        return known

    def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """The resource of a kind of params."""
        return self._run(self._client.kind(question))

    def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Params that are not among the documents."""
        return self._run(self._client.params(question))

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self._runner.run(work)

"""Reviews whose clients must prove that they are an API server, before their body is read.

The ``CallerCheck`` decides what counts as proof. Without one this module is not imported.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from policyd.errors import CallerRefused, ReviewError, UnknownIssuerKey
from policyd.http.endpoints import ReviewRequest, Reviews
from policyd.http.evaluators import ReviewCall
from policyd.http.messages import ASGIScope, Header, Receive, Send
from policyd.policy.compile.compiled import PolicyFilter
from policyd.policy.model.suite import Webhook

# API groups that a caller may send reviews of: all.
ALL_GROUPS = "*"


class CallerCheck(Protocol):
    """Decides whether a client is an API server: ``server.callers.required_tokens``."""

    def check(self, headers: Sequence[Header], webhook: Webhook, path: str, address: str) -> str:
        """Return the API group whose reviews the client at ``address`` may send, ``*`` for all.
        Raises CallerRefused.
        """

    async def renewed(self, address: str, deadline: int) -> bool:
        """Wait for new keys after an UnknownIssuerKey, at most until ``deadline``, a
        ``perf_counter_ns`` time; False if none arrive in time.
        """

    def refused(self, cause: str) -> None:
        """Count a refused request."""


@dataclass(eq=False, repr=False)
class CheckedReviews(Reviews):
    """Reviews whose callers are checked."""

    _: KW_ONLY
    callers: CallerCheck

    def begin(
        self, scope: ASGIScope, webhook: Webhook, only: PolicyFilter | None
    ) -> "CheckedReview":
        """Return the request that begins with this head."""
        return CheckedReview(self, scope, webhook, only)


class CheckedReview(ReviewRequest):
    """One request whose caller is checked: first the head, and then, once the body is decoded,
    whether the caller may send this review.
    """

    __slots__ = ("_callers", "_group", "_unacceptable")

    def __init__(
        self, of: CheckedReviews, scope: ASGIScope, webhook: Webhook, only: PolicyFilter | None
    ) -> None:
        super().__init__(of, scope, webhook, only)
        self._callers = of.callers
        self._group = ""
        # Other errors in the head, which an unauthorized caller must not see.
        self._unacceptable: ReviewError | None = self._refusal
        self._check_caller()

    async def later(self, receive: Receive, send: Send) -> None:
        """Continue, after waiting for a new key if the token needs one."""
        waits = isinstance(self._refusal, UnknownIssuerKey) and self._unacceptable is None
        if waits and await self._callers.renewed(self._peer.address, self._deadline):
            self._check_caller()
        if isinstance(self._refusal, CallerRefused):
            self._callers.refused(self._refusal.cause)
        await super().later(receive, send)

    def _check_caller(self) -> None:
        scope = self._scope
        try:
            self._group = self._callers.check(
                scope["headers"], self._webhook, scope["path"], self._peer.address
            )
        except CallerRefused as error:
            self._refusal = error
        else:
            self._refusal = self._unacceptable

    def _decode(self, data: bytes) -> ReviewCall:
        call = super()._decode(data)
        if self._group != ALL_GROUPS:
            self._check_group(call)
        return call

    def _check_group(self, call: ReviewCall) -> None:
        """Refuse a review of another API group. An aggregated server only sends reviews of its own
        resources, so the resource requested with ``matchPolicy: Equivalent`` has the same group.
        """
        request = call.request
        for group in (request.resource[0], request.request_resource[0]):
            if group != self._group:
                self._callers.refused("group")
                raise CallerRefused(
                    "group",
                    f"the token is for the API group {self._group!r}, the review of {group!r}",
                    403,
                )

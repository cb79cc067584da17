"""The ASGI application: maps paths to endpoints on both ports. No logic.

One ASGI app serves both ports; ``scope["scheme"]`` distinguishes them. The TLS port serves only
review paths, the plain port everything else.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from policyd.admission.recorder import Recorder
from policyd.config import Settings
from policyd.http.admin_gate import AdminGate
from policyd.http.endpoints import ReviewRequest, Reviews, ReviewSink
from policyd.http.evaluators import ReviewEvaluator
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight
from policyd.http.messages import (
    App,
    ASGIScope,
    Receive,
    Send,
    not_found,
    nothing_at,
    path_of,
    peer_of,
    respond,
)
from policyd.http.policies_in_use import ClusterView, PoliciesInUse
from policyd.http.routes import ROUTES, route_of_policy
from policyd.http.status import MetricsRenderer, ProcessView, Status
from policyd.webhooks.configuration_paths import EDIT_PATH

if TYPE_CHECKING:
    from policyd.http.callers import CallerCheck
from policyd.admission.recorder import ShedReason


@dataclass(eq=False, repr=False)
class Application:
    """The ASGI app."""

    reviews: Reviews
    admin: App
    store: PoliciesInUse
    lifecycle: Lifecycle
    recorder: Recorder
    _: KW_ONLY
    process: ProcessView
    edits: Reviews | None = None

    def begin(self, scope: ASGIScope) -> ReviewRequest | None:
        """Return the review that begins with this head; None if its path is not a webhook's."""
        if scope["type"] != "http" or scope["scheme"] != "https":
            return None
        path = scope["path"]
        route = ROUTES.get(path) or route_of_policy(path, self.store.current.policies)
        if route is not None:
            return self.reviews.begin(scope, *route)
        if path == EDIT_PATH and self.edits is not None:
            return self.edits.begin(scope, "validate", None)
        return None

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        review = self.begin(scope)
        if review is not None:
            await review.later(receive, send)
        elif scope["type"] != "http" or scope["scheme"] != "https":
            await self._answer_admin(scope, receive, send)
        else:
            reason = str(nothing_at(scope))
            self.recorder.rejected(404, peer_of(scope), path_of(scope), reason)
            await not_found(scope, receive, send, closing=self.lifecycle.draining)

    async def _answer_admin(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            accept = dict(scope["headers"]).get(b"accept", b"")
            try:
                await self.process.prepare(scope["path"], accept)
            except TimeoutError:
                message = b"the supervisor of the workers does not respond"
                await respond(scope, send, 503, message, closing=True)
                return
        await self.admin(scope, receive, send)


def create_app(
    settings: Settings,
    store: PoliciesInUse,
    recorder: Recorder,
    evaluator: ReviewEvaluator,
    *,
    exposition: MetricsRenderer,
    in_flight: InFlight,
    lifecycle: Lifecycle,
    capture: ReviewSink | None = None,
    unready: Callable[[], Sequence[str]] = tuple,
    check_edit: ReviewEvaluator | None = None,
    cluster: ClusterView | None = None,
    process: ProcessView | None = None,
    callers: "CallerCheck | None" = None,
) -> Application:
    """Create the app for one store. ``capture`` records requests; ``unready`` returns why the
    server is not ready, apart from its policies and ports; ``check_edit`` answers reviews of
    ConfigMaps with policies; ``callers`` decides which clients may send reviews.
    """
    process = process or ProcessView()
    make: Callable[..., Reviews] = Reviews
    if callers is not None:
        from policyd.http.callers import CheckedReviews

        make = partial(CheckedReviews, callers=callers)
    make = partial(
        make,
        in_flight=in_flight,
        lifecycle=lifecycle,
        timeout=settings.timeout,
        max_body_bytes=settings.max_body_bytes,
        body_timeout=settings.body_timeout,
    )
    reviews = make(evaluator, recorder, capture=capture)
    status = Status(
        store, lifecycle, exposition, unready, cluster=cluster or ClusterView(), process=process
    )
    admin = Starlette(
        routes=[
            Route("/livez", status.live),
            Route("/healthz", status.live),
            Route("/readyz", status.ready),
            Route("/metrics", status.metrics),
            Route("/policies", status.policies),
            Route("/policies/{name}", status.policy),
            Route("/denials", status.denials),
        ],
        exception_handlers={HTTPException: status.wrong},
    )
    admin.router.redirect_slashes = False
    gate = AdminGate(admin, settings.admin_host, settings.admin_token_file)
    edits = None if check_edit is None else make(check_edit, EditRecorder(recorder))
    return Application(reviews, gate, store, lifecycle, recorder, process=process, edits=edits)


class EditRecorder(Recorder):
    """Reports edits that were refused before a check. Metrics do not count edits as admission
    requests: they are rare, and take as long as loading policies.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def shed(self, reason: ShedReason) -> None:
        """Report a request that was refused for lack of room."""
        self._recorder.shed(reason)

    def rejected(self, status: int, peer: str, path: str, reason: str) -> None:
        """Report a request that was answered with an error."""
        self._recorder.rejected(status, peer, path, reason)

"""The ASGI application: maps paths to endpoints on both ports. No logic.

One ASGI app serves both ports; ``scope["scheme"]`` tells them apart. Review paths are served on the
TLS port only, everything else on the plain port only.
"""

from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from policyd.admission.recorder import Recorder
from policyd.config import Settings
from policyd.http.admin_gate import AdminGate
from policyd.http.edits import edit_reviews
from policyd.http.endpoints import (
    AsyncReviewEvaluator,
    ReviewEvaluator,
    Reviews,
    ReviewSink,
)
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
)
from policyd.http.policies_in_use import ClusterView, PoliciesInUse
from policyd.http.routes import ROUTES, route_of_policy
from policyd.http.status import MetricsRenderer, ProcessView, Status
from policyd.webhooks.stored import EDIT_PATH


class Application:
    """The ASGI app."""

    def __init__(
        self,
        reviews: Reviews,
        admin: App,
        store: PoliciesInUse,
        lifecycle: Lifecycle,
        recorder: Recorder,
        *,
        edits: Reviews | None = None,
    ) -> None:
        self._reviews = reviews
        self._edits = edits
        self._admin = admin
        self._store = store
        self._lifecycle = lifecycle
        self._recorder = recorder

    def at_once(self, scope: ASGIScope, body: bytes) -> bytes | None:
        """Return the JSON answer to a review that can be evaluated without waiting; None: call the
        app.
        """
        if scope["scheme"] != "https":
            return None
        path = scope["path"]
        route = ROUTES.get(path) or route_of_policy(path, self._store.current.policies)
        return None if route is None else self._reviews.at_once(scope, body, *route)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["scheme"] != "https":
            await self._admin(scope, receive, send)
            return
        path = scope["path"]
        route = ROUTES.get(path) or route_of_policy(path, self._store.current.policies)
        if route is None and path == EDIT_PATH and self._edits is not None:
            await self._edits(scope, receive, send, "validate", None)
        elif route is None:
            reason = str(nothing_at(scope))
            self._recorder.rejected(404, peer_of(scope), path_of(scope), reason)
            await not_found(scope, receive, send, closing=self._lifecycle.draining)
        else:
            await self._reviews(scope, receive, send, *route)


def create_app(
    settings: Settings,
    store: PoliciesInUse,
    recorder: Recorder,
    evaluate: ReviewEvaluator,
    *,
    exposition: MetricsRenderer,
    in_flight: InFlight,
    lifecycle: Lifecycle,
    evaluate_async: AsyncReviewEvaluator | None = None,
    capture: ReviewSink | None = None,
    unready: Callable[[], Sequence[str]] = tuple,
    check_edit: AsyncReviewEvaluator | None = None,
    cluster: ClusterView | None = None,
    process: ProcessView | None = None,
) -> Application:
    """Create the app for one store. ``evaluate`` is ``admission.engine.review``; ``evaluate_async``
    evaluates policies that need lookups in a cluster; ``capture`` records requests;
    ``unready`` returns why the server is not ready, beside its policies and ports; ``check_edit``
    answers the reviews of ConfigMaps with policies.
    """
    cluster = cluster or ClusterView()
    reviews = Reviews(
        evaluate,
        lambda: cluster.evaluated(store.current),
        recorder,
        in_flight,
        lifecycle,
        timeout=settings.timeout,
        max_body_bytes=settings.max_body_bytes,
        body_timeout=settings.body_timeout,
        evaluate_async=evaluate_async,
        capture=capture,
    )
    status = Status(store, lifecycle, exposition, unready, cluster=cluster, process=process)
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
    edits = None
    if check_edit is not None:
        edits = edit_reviews(settings, check_edit, recorder, in_flight, lifecycle)
    return Application(reviews, gate, store, lifecycle, recorder, edits=edits)

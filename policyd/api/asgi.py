"""asgi: the webhook endpoints as an ASGI app, for a program with its own server.

The program provides metrics, logs of denials, reloads and TLS.
"""

from collections.abc import Callable
from math import ceil

from policyd.admission.recorder import Recorder
from policyd.admission.review import AdmissionResponse
from policyd.api.evaluation import WebhookCall
from policyd.api.lookups import Lookups
from policyd.api.policy_set import PolicySet
from policyd.http.endpoints import Reviews
from policyd.http.evaluators import ReviewCall, ReviewEvaluator
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import SHARE, InFlight
from policyd.http.messages import ASGIScope, Receive, Send, not_found, respond
from policyd.http.routes import ROUTES, route_of_policy
from policyd.policy.model.suite import Webhook

HEALTH = frozenset(("/livez", "/readyz", "/healthz"))
TEXT = b"text/plain; charset=utf-8"


def asgi(
    policies: PolicySet | Callable[[], PolicySet],
    *,
    lookups: Lookups | None = None,
    timeout: float = 10.0,
    max_body_bytes: int = 16 * 2**20,
    body_timeout: float = 5.0,
    max_in_flight: int = 256,
    max_in_flight_bytes: int = 160 * 2**20,
) -> "PolicyApp":
    """Return an ASGI 3 app that answers AdmissionReviews, to mount in Starlette or FastAPI or to
    run by itself; it needs asyncio.

    ``POST /validate`` and ``POST /mutate`` evaluate all policies; ``/validate/fail`` and
    ``/validate/ignore`` the policies with that failurePolicy, ``/validate/policy/NAME`` one (the
    same for ``/mutate``): the paths, status codes and bodies of ``policyd serve``. ``GET /livez``,
    ``/readyz`` and ``/healthz`` answer ``ok``. It has no page of metrics or policies.

    ``policies`` is a set, or a function that returns the current set, so that a program can replace
    its policies. The function is called here, so that a mistake is found at once, and for each
    request. ``lookups`` provides the cluster data that policies need. Raises ``TypeError`` for
    anything else.

    ``timeout`` is in seconds: a request is answered within it, or within the ``?timeout=10s`` of
    its URL if that is shorter, less 10 % and at least 20 ms. ``body_timeout`` is the number of
    seconds that a body may take to arrive; a later body gets a 408. A body of more than
    ``max_body_bytes`` gets a 413. More than ``max_in_flight`` requests at a time, or more than
    ``max_in_flight_bytes`` of memory for the requests and responses in progress, get a 503 with
    Retry-After. The defaults are the same as with ``policyd serve``.
    """
    current = _current(policies)
    current()
    reviews = Reviews(
        _SetEvaluator(current, lookups),
        Recorder(),
        InFlight(_shared(max_in_flight), _shared(max_in_flight_bytes)),
        Lifecycle(),
        timeout=timeout,
        max_body_bytes=max_body_bytes,
        body_timeout=body_timeout,
    )
    return PolicyApp(current, reviews)


def _current(policies: PolicySet | Callable[[], PolicySet]) -> Callable[[], PolicySet]:
    """Return a function that returns the current set, and raises TypeError for anything else."""

    def current() -> PolicySet:
        found: object = policies() if callable(policies) else policies
        if not isinstance(found, PolicySet):
            got = "a function that returned " if callable(policies) else ""
            raise TypeError(
                f"expected a PolicySet, or a function that returns one, got {got}{found!r:.80}: "
                "load the policies first, as in asgi(PolicySet.load('policies/'))"
            )
        return found

    return current


class PolicyApp:
    """The ASGI app that ``asgi`` returns."""

    def __init__(self, policies: Callable[[], PolicySet], reviews: Reviews) -> None:
        self._policies = policies
        self._reviews = reviews

    def __repr__(self) -> str:
        return f"<policyd.asgi of {self._policies()!r}>"

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request, or the lifespan protocol of a server that runs this app directly."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await self._respond(scope, receive, send)

    async def _respond(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        path = _path(scope)
        if path in HEALTH:
            await _healthy(scope, send)
            return
        route = ROUTES.get(path) or route_of_policy(
            path, self._policies()._evaluator.policies.policies
        )
        if route is None:
            await not_found(scope, receive, send, closing=False)
        else:
            await self._reviews.begin(scope, *route).later(receive, send)


class _SetEvaluator(ReviewEvaluator):
    """Evaluates calls with the policies of a program, and its lookups."""

    def __init__(self, policies: Callable[[], PolicySet], lookups: Lookups | None) -> None:
        self._policies = policies
        self._lookups = lookups

    def waits(self, webhook: Webhook) -> bool:
        """Whether a policy of this webhook may need a lookup."""
        return self._lookups is not None and webhook in self._policies()._evaluator.with_lookups

    def now(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call without lookups."""
        return self._policies()._evaluator.answer(_public(call))

    async def later(self, call: ReviewCall) -> AdmissionResponse:
        """Evaluate a call with lookups."""
        return await self._policies()._evaluator.look_up(_public(call), self._lookups)


def _public(call: ReviewCall) -> WebhookCall:
    return WebhookCall(call.request, call.webhook, call.deadline, None, call.recorder, call.only)


def _path(scope: ASGIScope) -> str:
    """Return the path below the mount point of the app."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def _shared(limit: int) -> int:
    """Return the total capacity of which SHARE is ``limit``. The server reserves the rest for other
    clients; a program does not identify its clients, so they all share one client's part.
    """
    return ceil(limit / SHARE)


async def _healthy(scope: ASGIScope, send: Send) -> None:
    """Always healthy: the app was created with a set of policies."""
    if scope["method"] in ("GET", "HEAD"):
        await respond(scope, send, 200, b"ok", content_type=TEXT)
    else:
        await respond(
            scope, send, 405, b"use GET", content_type=TEXT, headers=((b"allow", b"GET, HEAD"),)
        )


async def _live(receive: Receive, send: Send) -> None:
    """Answer the lifespan messages; there is nothing to start or stop."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return

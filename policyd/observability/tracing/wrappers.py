"""The hooks of a server for tracing; here they do nothing, ``traced_requests`` overrides them."""

from collections.abc import Awaitable, Callable

from policyd.http.evaluators import ReviewEvaluator
from policyd.http.messages import ASGIScope, Receive, Send
from policyd.observability.metrics.recorder import PrometheusRecorder

ASGIApp = Callable[[ASGIScope, Receive, Send], Awaitable[None]]


class Tracing:
    """Hooks that do nothing unless a subclass overrides them. ``recorder`` counts requests, and the
    outcomes of traces.
    """

    def __init__(self, recorder: PrometheusRecorder) -> None:
        self.recorder = recorder

    def app(self, app: ASGIApp) -> ASGIApp:
        """Return the ASGI app to serve."""
        return app

    def evaluator(self, evaluator: ReviewEvaluator) -> ReviewEvaluator:
        """Return the evaluator of requests."""
        return evaluator

    def close(self) -> None:
        """Export the queue, for a limited time, when the server stops."""

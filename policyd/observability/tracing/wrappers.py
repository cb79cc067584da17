"""What a server wraps for tracing: here nothing; ``traced_requests`` does."""

from collections.abc import Awaitable, Callable

from policyd.http.evaluators import ReviewEvaluator
from policyd.http.messages import ASGIScope, Receive, Send
from policyd.observability.metrics.recorder import PrometheusRecorder

ASGIApp = Callable[[ASGIScope, Receive, Send], Awaitable[None]]


class Tracing:
    """The hooks of a server for tracing: they do nothing, unless a subclass does. ``recorder``
    counts requests, and the outcomes of traces.
    """

    def __init__(self, recorder: PrometheusRecorder) -> None:
        self.recorder = recorder

    def app(self, app: ASGIApp) -> ASGIApp:
        """Return the ASGI app to serve."""
        return app

    def evaluator(self, evaluator: ReviewEvaluator) -> ReviewEvaluator:
        """Return what evaluates requests."""
        return evaluator

    def close(self) -> None:
        """Export what is queued, for a limited time: at the end of the server."""

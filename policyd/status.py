"""Endpoints of the plain port: health, metrics, and what is loaded. Read only."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from policyd.lifecycle import Lifecycle
from policyd.policy.store import Policy, Store


class Exposition(Protocol):
    """What ``/metrics`` shows: ``observability.metrics.Exposition``."""

    def render(self, accept: str) -> tuple[bytes, str]:
        """The text of a scrape, and its Content-Type."""


class Status:
    """Tells about the server; never changes anything. ``deaf``: which changes it may miss."""

    def __init__(
        self,
        store: Store,
        lifecycle: Lifecycle,
        exposition: Exposition,
        deaf: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._store = store
        self._deaf = deaf
        self._lifecycle = lifecycle
        self._exposition = exposition

    async def live(self, _: Request) -> Response:
        """The process answers: all that liveness may depend on."""
        return self._closing(PlainTextResponse("ok"))

    async def ready(self, _: Request) -> Response:
        """200 if policies are loaded, TLS listens, changes of files are noticed, and the server is
        not draining.
        """
        missing = [
            self._store.unready,
            "" if self._lifecycle.listening else "not listening",
            "draining" if self._lifecycle.draining else "",
            *self._deaf(),
        ]
        missing = [reason for reason in missing if reason]
        text = "not ready: " + ", ".join(missing) if missing else "ok"
        return self._closing(PlainTextResponse(text, 503 if missing else 200))

    async def metrics(self, request: Request) -> Response:
        """Prometheus text, or OpenMetrics by Accept."""
        text, content_type = self._exposition.render(request.headers.get("accept", ""))
        return self._closing(Response(text, headers={"content-type": content_type}))

    async def policies(self, _: Request) -> Response:
        """Everything that is loaded, and how the last reload went."""
        return self._closing(_json(self._shown(self._store.current.policies)))

    async def policy(self, request: Request) -> Response:
        """The same for the policies of one name (a validating and a mutating one may share it)."""
        name = request.path_params["name"]
        named = [policy for policy in self._store.current.policies if policy.name == name]
        if not named:
            return self._closing(_json({"error": f"no policy is called {name!r}"}, 404))
        return self._closing(_json(self._shown(named)))

    async def wrong(self, _: Request, error: Any) -> Response:
        """A path or method that is not served, as JSON."""
        text = "nothing is served here on this port" if error.status_code == 404 else error.detail
        answer = _json({"error": text}, error.status_code)
        answer.headers.update(error.headers or {})
        return self._closing(answer)

    def _closing(self, answer: Response) -> Response:
        if self._lifecycle.draining:
            answer.headers["connection"] = "close"
        return answer

    def _shown(self, policies: Any) -> dict[str, Any]:
        current = self._store.current
        counters = {each.name: each.snapshot() for each in current.counters()}
        return {
            "generation": current.generation,
            "kubernetesVersion": str(current.version),
            "lastReload": _reload(self._store),
            "policies": [_policy(policy, counters.get(policy.name)) for policy in policies],
        }


def _reload(store: Store) -> dict[str, Any] | None:
    last = store.last
    if last is None:
        return None
    return {"succeeded": last.succeeded, "time": last.at, "errors": list(last.errors)}


def _policy(policy: Policy, counters: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": policy.name,
        "kind": policy.kind,
        "state": policy.state,
        "source": policy.source,
    }
    if policy.problem:
        shown["problem"] = policy.problem
    if counters is not None:
        shown["counters"] = {**counters}
    return shown


def _json(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")

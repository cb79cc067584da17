"""Endpoints of the plain port: health, metrics, and what is loaded. Read only."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from policyd.http.admin_gate import TRUSTED
from policyd.http.lifecycle import Lifecycle
from policyd.policy.live.store import LoadedPolicy, Store

# Rendering may take this part of the time, and so many seconds at once. Beyond that the last text
# is shown again: whoever asks for metrics in a loop must not keep reviews waiting.
RENDERING_PART = 0.1
RENDERING_SECONDS = 0.5


class MetricsRenderer(Protocol):
    """What ``/metrics`` shows: ``observability.metrics.Exposition``."""

    def render(self, accept: str) -> tuple[bytes, str]:
        """The text of a scrape, and its Content-Type."""


class Status:
    """Tells about the server; never changes anything. ``deaf``: which changes it may miss."""

    def __init__(
        self,
        store: Store,
        lifecycle: Lifecycle,
        exposition: MetricsRenderer,
        stale_watches: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._store = store
        self._stale_watches = stale_watches
        self._lifecycle = lifecycle
        self._exposition = exposition
        self._cache = RenderCache()

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
            *self._stale_watches(),
        ]
        missing = [reason for reason in missing if reason]
        text = "not ready: " + ", ".join(missing) if missing else "ok"
        return self._closing(PlainTextResponse(text, 503 if missing else 200))

    async def metrics(self, request: Request) -> Response:
        """Prometheus text, or OpenMetrics by Accept."""
        accept = request.headers.get("accept", "")
        kind = "openmetrics" if "openmetrics" in accept else "prometheus"
        text, content_type = self._cache.get(kind, lambda: self._exposition.render(accept))
        return self._closing(Response(text, headers={"content-type": content_type}))

    async def policies(self, request: Request) -> Response:
        """Everything that is loaded, and how the last reload went."""
        trusted = _is_trusted(request)

        def render() -> tuple[bytes, str]:
            return orjson.dumps(self._shown(self._store.current.policies, trusted)), JSON

        text, content_type = self._cache.get(f"policies {trusted}", render)
        return self._closing(Response(text, headers={"content-type": content_type}))

    async def policy(self, request: Request) -> Response:
        """The same for the policies of one name (a validating and a mutating one may share it)."""
        name = request.path_params["name"]
        named = [policy for policy in self._store.current.policies if policy.name == name]
        if not named:
            return self._closing(_json({"error": f"no policy is called {name!r}"}, 404))
        return self._closing(_json(self._shown(named, _is_trusted(request))))

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

    def _shown(self, policies: Any, trusted: bool) -> dict[str, Any]:
        current = self._store.current
        names = {policy.name for policy in policies}
        counters = {each.name: each.snapshot() for each in current.counters() if each.name in names}
        return {
            "generation": current.generation,
            "kubernetesVersion": str(current.version),
            "lastReload": _reload(self._store, trusted),
            "policies": [
                _policy(policy, counters.get(policy.name), trusted) for policy in policies
            ],
        }


class RenderCache:
    """Texts that take time to make: made anew as long as that leaves the time to others."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._texts: dict[str, tuple[bytes, str]] = {}
        self._spent = 0.0
        self._at = clock()

    def get(self, key: str, render: Callable[[], tuple[bytes, str]]) -> tuple[bytes, str]:
        """The text of ``key``: a new one, or the last if there was no time for a new one."""
        now = self._clock()
        self._spent = max(0.0, self._spent - (now - self._at) * RENDERING_PART)
        self._at = now
        if self._spent < RENDERING_SECONDS or key not in self._texts:
            self._texts[key] = render()
            self._spent += self._clock() - now
        return self._texts[key]


def _is_trusted(request: Request) -> bool:
    """Whether ``admin_gate.py`` found that the client may see everything."""
    return bool(request.scope.get("state", {}).get(TRUSTED))


def _reload(store: Store, trusted: bool) -> dict[str, Any] | None:
    last = store.last
    if last is None:
        return None
    shown = {"succeeded": last.succeeded, "time": last.at, "errorCount": len(last.errors)}
    return {**shown, "errors": list(last.errors)} if trusted else shown


def _policy(policy: LoadedPolicy, counters: Any, trusted: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": policy.name, "kind": policy.kind, "state": policy.state}
    if trusted:
        shown["source"] = policy.source
        if policy.problem:
            shown["problem"] = policy.problem
    if counters is not None:
        shown["counters"] = {**counters}
    return shown


JSON = "application/json"


def _json(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type=JSON)

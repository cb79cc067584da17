"""Endpoints of the plain port: health, metrics, and the loaded policies. Read-only."""

import asyncio
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from time import perf_counter, thread_time
from typing import Any, Generic, Protocol, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from policyd.bounded_text import encodable_tree
from policyd.errors import ReviewError
from policyd.gc_policy import exempting
from policyd.http.admin_gate import TRUSTED
from policyd.http.denials import NONE, RecentDenials, denial_query
from policyd.http.lifecycle import Lifecycle
from policyd.http.policies_in_use import ClusterView, PoliciesInUse, PolicyPlaces
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.reach.reach_result import Reached

# The share of time that rendering may use, and its seconds at once. Beyond that the previous page
# is sent again: a client that requests metrics in a loop must not delay reviews.
RENDERING_PART = 0.1
RENDERING_SECONDS = 0.5


# Writes a page: its body and Content-Type.
Render = Callable[[], tuple[bytes, str]]
_Page = TypeVar("_Page")
_Made = TypeVar("_Made")


class MetricsRenderer(Protocol):
    """Renders ``/metrics``: ``observability.metrics.Exposition``."""

    def prepare(self, accept: str) -> Render:
        """Collect the state for a scrape; any thread may call the returned function."""


class ProcessView:
    """The state of one process; a worker overrides it with the state of all.

    ``denials`` returns the recent denials.
    """

    def __init__(self, denials: Callable[[], RecentDenials] = lambda: NONE) -> None:
        self.denials = denials

    async def prepare(self, path: str, accept: bytes) -> None:
        """Get the data of other processes that an answer needs. Raises TimeoutError."""

    def readiness(self, missing: Sequence[str]) -> Sequence[str]:
        """Return why the server is not ready, given the reasons of this process."""
        return missing

    def counted(self, policies: CompiledPolicySet, names: Container[str]) -> Mapping[str, Any]:
        """Return the decisions and cost of the policies with these names, by name."""
        return {each.name: each.snapshot() for each in policies.counters() if each.name in names}


@dataclass(eq=False, repr=False)
class Status:
    """Reports the state of the server. ``unready`` returns why it is not ready, apart from its
    policies and ports.
    """

    store: PoliciesInUse
    lifecycle: Lifecycle
    exposition: MetricsRenderer
    unready: Callable[[], Sequence[str]] = tuple
    _: KW_ONLY
    cluster: ClusterView = field(default_factory=ClusterView)
    process: ProcessView = field(default_factory=ProcessView)

    def __post_init__(self) -> None:
        self._cache = RenderCache[tuple[bytes, str]]()

    async def live(self, _: Request) -> Response:
        """Always 200: liveness depends on nothing but the process."""
        return self._closing(PlainTextResponse("ok"))

    async def ready(self, _: Request) -> Response:
        """200 if policies are loaded, TLS listens and changes of files are noticed; else 503.

        Draining makes no difference. Kubernetes removes a terminating Pod from the ready endpoints,
        and kube-proxy still sends it requests, if it is ready, when no other endpoint is left.
        """
        missing = [
            self.store.unready,
            "" if self.lifecycle.listening else "not listening",
            *self.unready(),
        ]
        missing = [*self.process.readiness([reason for reason in missing if reason])]
        message = "not ready: " + ", ".join(missing) if missing else "ok"
        return self._closing(PlainTextResponse(message, 503 if missing else 200))

    async def metrics(self, request: Request) -> Response:
        """Metrics in the Prometheus format, or as OpenMetrics if Accept prefers it."""
        accept = request.headers.get("accept", "")
        kind = "openmetrics" if "openmetrics" in accept else "prometheus"
        text, content_type = await self._cache.later(kind, lambda: self.exposition.prepare(accept))
        return self._closing(Response(text, headers={"content-type": content_type}))

    async def policies(self, request: Request) -> Response:
        """All loaded policies and the result of the last reload."""
        trusted = _is_trusted(request)

        def prepare() -> Render:
            head, rows = self._shown(self.store.current.policies, trusted)
            return lambda: (orjson.dumps({**head, "policies": list(rows)}), JSON)

        text, content_type = await self._cache.later(f"policies {trusted}", prepare)
        return self._closing(Response(text, headers={"content-type": content_type}))

    async def policy(self, request: Request) -> Response:
        """The policies of one name (a validating and a mutating one may share it), and their recent
        denials, with the same query as for all denials.
        """
        name = request.path_params["name"]
        named = [policy for policy in self.store.current.policies if policy.name == name]
        if not named:
            return self._closing(_json({"error": f"no policy is named {name!r}"}, 404))
        try:
            query = denial_query(request.url.query, policy=name)
        except ReviewError as error:
            return self._closing(_json({"error": str(error)}, error.status))
        trusted = _is_trusted(request)
        head, rows = self._shown(named, trusted)
        shown = {**head, "policies": list(rows)}
        if trusted:
            shown["denials"] = query.page(self.process.denials())["denials"]
        return self._closing(_json(shown))

    async def denials(self, request: Request) -> Response:
        """The recent denials, only for trusted clients: they name objects and users."""
        if not _is_trusted(request):
            return self._closing(_json({"error": _UNTRUSTED}, 403))
        try:
            query = denial_query(request.url.query)
        except ReviewError as error:
            return self._closing(_json({"error": str(error)}, error.status))
        return self._closing(_json(query.page(self.process.denials())))

    async def wrong(self, request: Request, error: Any) -> Response:
        """A JSON error for a path or method that is not served."""
        not_found = error.status_code == 404
        paths = ", ".join(route.path for route in request.app.routes)
        message = f"nothing is served here; this port serves {paths}" if not_found else error.detail
        answer = _json({"error": message}, error.status_code)
        answer.headers.update(error.headers or {})
        return self._closing(answer)

    def _closing(self, answer: Response) -> Response:
        if self.lifecycle.draining:
            answer.headers["connection"] = "close"
        return answer

    def _shown(
        self, policies: Sequence[CompiledPolicy], trusted: bool
    ) -> tuple[dict[str, Any], Iterable[dict[str, Any]]]:
        """Return the state of the server, and a function that returns the rows of the policies,
        which any thread may call.
        """
        current = self.store.current
        names = {policy.name for policy in policies}
        reached, placed = self.cluster.reached, self.cluster.placed
        counters = self.process.counted(current, names)
        head = {
            "generation": current.generation,
            "kubernetesVersion": str(current.version),
            "lastReload": _reload(self.store, trusted),
            "servesLastGood": self.store.serves_last_good,
            **self._config_maps(trusted),
        }
        rows = (
            _policy(
                policy,
                counters.get(policy.name),
                reached.get((policy.kind, policy.name)),
                placed.get((policy.kind, policy.name)),
                trusted,
            )
            for policy in policies
        )
        return head, rows

    def _config_maps(self, trusted: bool) -> dict[str, Any]:
        """The ConfigMaps with policies, and the teams' ConfigMaps with exceptions. ``heldVersion``:
        a later edit has errors.
        """
        bundles = self.store.bundles
        if not bundles or not trusted:
            return {}
        shown: list[dict[str, Any]] = []
        for each in bundles:
            one: dict[str, Any] = {
                "name": each.name,
                "resourceVersion": each.version,
                "files": each.files,
            }
            if each.confined:
                one["namespace"] = each.confined
            shown.append({**one, "heldVersion": each.held} if each.held else one)
        return {"configMaps": shown}


class RenderCache(Generic[_Page]):
    """Pages that take time to render: rendered again only if enough time is left for other work.

    Only processor time counts, so that pages do not get older when other processes cause delays.
    """

    def __init__(
        self, clock: Callable[[], float] = perf_counter, cpu: Callable[[], float] = thread_time
    ) -> None:
        self._clock = clock
        self._cpu = cpu
        self._pages: dict[str, _Page] = {}
        self._spent = 0.0
        self._at = clock()
        self._rendering = asyncio.Lock()

    def get(self, key: str, render: Callable[[], _Page]) -> _Page:
        """The page for ``key``: rendered again if there is time, else the previous one."""
        if self._due(key):
            self._pages[key], spent = self._timed(render)
            self._spent += spent
        return self._pages[key]

    async def later(self, key: str, prepare: Callable[[], Callable[[], _Page]]) -> _Page:
        """The same, but a thread calls the function that ``prepare`` returns, so that requests are
        answered meanwhile: 10,000 policies have 120,000 series. Renders one page at a time.
        """
        async with self._rendering:
            if self._due(key):
                render, taken = self._timed(prepare)
                self._pages[key], spent = await asyncio.to_thread(self._beside, render)
                self._spent += taken + spent
            return self._pages[key]

    def _beside(self, render: Callable[[], _Page]) -> tuple[_Page, float]:
        """Render a page in a thread, without garbage collection of its thousands of objects."""
        with exempting():
            return self._timed(render)

    def _timed(self, made: Callable[[], _Made]) -> tuple[_Made, float]:
        """Return the result, and the processor seconds of this thread that it took."""
        began = self._cpu()
        return made(), self._cpu() - began

    def _due(self, key: str) -> bool:
        now = self._clock()
        self._spent = max(0.0, self._spent - (now - self._at) * RENDERING_PART)
        self._at = now
        return self._spent < RENDERING_SECONDS or key not in self._pages


def _is_trusted(request: Request) -> bool:
    """Whether ``admin_gate.py`` found that the client may see error messages and file names."""
    return bool(request.scope.get("state", {}).get(TRUSTED))


def _reload(store: PoliciesInUse, trusted: bool) -> dict[str, Any] | None:
    last = store.last
    if last is None:
        return None
    shown = {"succeeded": last.succeeded, "time": last.at, "errorCount": len(last.errors)}
    return {**shown, "errors": list(last.errors)} if trusted else shown


def _policy(
    policy: CompiledPolicy,
    counters: Mapping[str, Any] | None,
    reached: Reached | None,
    placed: PolicyPlaces | None,
    trusted: bool,
) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": policy.name, "kind": policy.kind, "state": policy.state}
    if trusted:
        shown["source"] = policy.source
        if policy.problem:
            shown["problem"] = policy.problem
        if policy.rollout is not None:  # only trusted clients see what is not enforced
            shown["rollout"] = {**policy.rollout.given, "over": policy.rollout.over}
    if reached is not None:
        shown["reached"] = reached.state
        if reached.gaps:
            shown["unreached"] = list(reached.gaps)
    if placed is not None:
        shown["placement"] = {
            webhook: {"engine": engine, "why": why} if trusted else {"engine": engine}
            for webhook, (engine, why) in placed.items()
        }
    if counters is not None:
        shown["counters"] = {**counters}
    return shown


JSON = "application/json"
_UNTRUSTED = (
    "denials name objects and users: connect from loopback (kubectl port-forward), or use "
    "--admin-token-file"
)


def _json(value: Any, status: int = 200) -> Response:
    try:
        content = orjson.dumps(value)
    except orjson.JSONEncodeError:  # half of a surrogate pair in a name or message
        content = orjson.dumps(encodable_tree(value))
    return Response(content, status, media_type=JSON)

"""policyd.asgi: the webhook's endpoints inside of another program's app."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

import policyd
from policyd import AccessDecision, Attributes, Failure, Lookups, PolicySet, build_review
from policyd.api.asgi import _shared
from policyd.http.limits import share
from tests.api.objects import POD, labels, requiring

POLICIES = PolicySet.from_documents(
    requiring("no", "false"),
    requiring("maybe", "object.spec.nothing == 1", failurePolicy="Ignore"),
    labels("team", team="a"),
)
REVIEW = build_review(POD)
BODY = json.dumps(REVIEW).encode()


@asynccontextmanager
async def nothing(_: Starlette) -> AsyncIterator[None]:
    yield


def client(*policies: Any, at: str = "/admission", **given: Any) -> TestClient:
    """A program that answers ``/`` itself and mounts the app."""
    app = policyd.asgi(policies[0] if policies else POLICIES, **given)
    own = Route("/", lambda _: PlainTextResponse("mine"))
    return TestClient(Starlette(routes=[own, Mount(at, app)], lifespan=nothing))


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_the_answer_is_that_of_review(webhook: Any, scheme: str) -> None:
    answer = client().post(f"{scheme}://host/admission/{webhook}", content=BODY)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == POLICIES.review(REVIEW, webhook)


ROUTES = [
    ("/validate", ["no"]),
    ("/validate/fail", ["no"]),
    ("/validate/ignore", []),
    ("/validate/policy/no", ["no"]),
    ("/validate/policy/team", []),
]


@pytest.mark.parametrize(("path", "denying"), ROUTES)
def test_paths_choose_policies(path: str, denying: list[str]) -> None:
    for prefix in ("", "/admission", "/a/b"):
        response = client(at=prefix).post(prefix + path, content=BODY).json()["response"]
        causes = response.get("status", {}).get("details", {}).get("causes", [])
        assert [each["message"].split("'")[1] for each in causes] == denying
    assert (
        "patch" in client().post("/admission/mutate/policy/team", content=BODY).json()["response"]
    )


REFUSED: list[tuple[str, bytes, dict[str, str], int, str]] = [
    ("POST /validate", b"{", {}, 400, "truncated JSON"),
    ("POST /validate", b"x" * 3000, {}, 413, "the AdmissionReview is larger than 2048 bytes"),
    ("POST /validate", BODY, {"content-encoding": "gzip"}, 415, "without Content-Encoding"),
    ("GET /validate", b"", {}, 405, "expected a POST request"),
    ("POST /validate?timeout=soon", BODY, {}, 400, "timeout: expected a duration"),
    ("POST /validate/policy/nobody", BODY, {}, 404, "nothing is served at"),
    ("POST /policies", BODY, {}, 404, "nothing is served at"),
    ("GET /metrics", b"", {}, 404, "nothing is served at"),
    ("GET /", b"", {}, 404, "nothing is served at"),
]


@pytest.mark.parametrize(("line", "body", "headers", "status", "error"), REFUSED)
def test_what_is_refused(
    line: str, body: bytes, headers: dict[str, str], status: int, error: str
) -> None:
    method, path = line.split()
    answer = client(max_body_bytes=2048).request(
        method, f"/admission{path}", content=body, headers=headers
    )
    assert (answer.status_code, error in answer.json()["error"]) == (status, True)


def test_a_request_may_shorten_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    late = client(timeout=1e-3).post("/admission/validate", content=BODY).json()["response"]
    assert late["status"]["message"].startswith("policy 'no' denied request: ")
    assert late != POLICIES.review(REVIEW)["response"]
    late = client().post("/admission/validate?timeout=1ms", content=BODY).json()["response"]
    assert late != POLICIES.review(REVIEW)["response"]


async def post(app: Any, body: bytes | None) -> list[dict[str, Any]]:
    """The messages that answer a request to /validate; None: its body never arrives."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if body is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/validate", "headers": []}
    await app({**scope, "query_string": b"", "http_version": "1.1"}, receive, send)
    return sent


def test_no_more_requests_than_allowed_are_under_way() -> None:
    """One that stalls gives its place to the next, as in the server."""

    async def two() -> tuple[list[dict[str, Any]], ...]:
        app = policyd.asgi(POLICIES, max_in_flight=1)
        stalled = asyncio.ensure_future(post(app, None))
        await asyncio.sleep(0)
        return await post(app, BODY), await stalled

    answered, refused = asyncio.run(two())
    assert json.loads(answered[1]["body"]) == POLICIES.review(REVIEW)
    assert refused[0]["status"] == 503
    assert (b"retry-after", b"1") in refused[0]["headers"]


def test_a_body_must_arrive_in_time() -> None:
    app = policyd.asgi(POLICIES, body_timeout=0.01)
    assert asyncio.run(post(app, None))[0]["status"] == 408


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100, 256, 2**20 + 1])
def test_one_client_may_fill_the_limits(limit: int) -> None:
    assert share(_shared(limit)) == limit


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
def test_health(path: str) -> None:
    answer = client().get(f"/admission{path}")
    assert (answer.status_code, answer.text) == (200, "ok")
    assert client().head(f"/admission{path}").status_code == 200
    refused = client().post(f"/admission{path}")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_the_program_keeps_its_own_pages() -> None:
    assert client().get("/").text == "mine"
    assert client().get("/nothing").status_code == 404


def test_it_runs_without_another_app() -> None:
    app = policyd.asgi(POLICIES)
    with TestClient(app) as alone:
        assert alone.post("/validate", content=BODY).json() == POLICIES.review(REVIEW)
        with pytest.raises(Exception) as raised, alone.websocket_connect("/validate"):
            pass
        assert type(raised.value).__name__ == "WebSocketDisconnect"
    assert repr(app).startswith("<policyd.asgi of <PolicySet of 3 policies")


def test_a_proxy_that_strips_a_prefix() -> None:
    proxied = TestClient(policyd.asgi(POLICIES), root_path="/outside")
    assert proxied.post("/validate", content=BODY).status_code == 200


def test_a_function_gives_the_set_in_use() -> None:
    in_use = [POLICIES]
    app = client(lambda: in_use[0])
    assert not app.post("/admission/validate", content=BODY).json()["response"]["allowed"]
    in_use[0] = PolicySet.from_documents(requiring("yes", "true"))
    assert app.post("/admission/validate", content=BODY).json()["response"]["allowed"]
    assert app.post("/admission/validate/policy/yes", content=BODY).status_code == 200
    assert app.post("/admission/validate/policy/no", content=BODY).status_code == 404


WRONG_SETS: list[tuple[Any, str]] = [
    ("policies/", "got 'policies/': load the policies first"),
    (None, "got None: load"),
    (lambda: None, "got a function that returned None: load"),
    (lambda: "policies/", "got a function that returned 'policies/': load"),
]


@pytest.mark.parametrize(("policies", "wrong"), WRONG_SETS)
def test_what_is_no_set_of_policies_is_refused_at_once(policies: Any, wrong: str) -> None:
    with pytest.raises(TypeError, match=wrong):
        policyd.asgi(policies)


def test_a_function_is_tried_at_once() -> None:
    loaded: dict[str, PolicySet] = {}
    with pytest.raises(KeyError, match="policies"):
        policyd.asgi(lambda: loaded["policies"])


def test_lookups_are_asked() -> None:
    class Bob(Lookups):
        async def authorize(self, attributes: Attributes) -> AccessDecision | Failure:
            return AccessDecision(attributes.user == "bob")

    asks = PolicySet.from_documents(
        requiring("asks", "authorizer.path('/healthz').check('get').allowed()")
    )
    for user in ("bob", "ann"):
        body = json.dumps(build_review(POD, user=user)).encode()
        for lookups in (Bob(), None):
            app = client(asks, lookups=lookups)
            allowed = app.post("/admission/validate", content=body).json()["response"]["allowed"]
            assert allowed is (user == "bob" and lookups is not None)


def test_the_authorizer_of_the_set_is_asked() -> None:
    asks = PolicySet.from_documents(
        requiring("asks", "authorizer.path('/healthz').check('get').allowed()"),
        authorizer=policyd.StaticAuthorizer([{"path": "/healthz"}]),
    )
    assert client(asks).post("/admission/validate", content=BODY).json()["response"]["allowed"]

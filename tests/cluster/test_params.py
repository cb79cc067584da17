"""Parameter objects from an API server: which paths are asked, and for how long answers hold."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.cluster import cache, connect
from policyd.cluster.client import ClusterClient
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from tests.cluster.fake import ApiServer, Call, Reply, refusal

Result = TypeVar("Result")
SERVED = Served("limits.dev", "v1", "limitss", "Limit", True)
LIMIT = KindOf("limits.dev/v1", "Limit")
DISCOVERY = {
    "kind": "APIResourceList",
    "resources": [
        {"name": "limitss/status", "kind": "Limit", "namespaced": True},
        {"name": "limitss", "kind": "Limit", "namespaced": True},
    ],
}
MAP: JSONObject = {
    "kind": "ConfigMap",
    "metadata": {"name": "p", "namespace": "shop"},
    "data": {"a": "1"},
}


def run(server: ApiServer, work: Callable[[ClusterClient], Awaitable[Result]]) -> Result:
    async def scenario() -> Result:
        client = connect(server.kubeconfig(), 5.0)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(scenario())


def paths(server: ApiServer) -> list[str]:
    return [call.path for call in server.calls]


def custom(call: Call) -> Reply:
    if call.path == "/apis/limits.dev/v1":
        return Reply(DISCOVERY)
    return Reply(object_of("Limit", call.path.rpartition("/")[2]))


def object_of(kind: str, name: str = "p") -> JSONObject:
    return {**MAP, "kind": kind, "metadata": {**MAP["metadata"], "name": name}}


ASKED = [
    (ParamsOf("v1", "ConfigMap", "shop", "p"), "/api/v1/namespaces/shop/configmaps/p"),
    (ParamsOf("v1", "Node", "", "p"), "/api/v1/nodes/p"),
    (
        ParamsOf("networking.k8s.io/v1", "NetworkPolicy", "a/b", "p?q"),
        "/apis/networking.k8s.io/v1/namespaces/a%2Fb/networkpolicies/p%3Fq",
    ),
]


@pytest.mark.parametrize(("question", "path"), ASKED)
def test_a_built_in_kind_needs_no_discovery(
    server: ApiServer, question: ParamsOf, path: str
) -> None:
    found = object_of(question.kind, question.name)
    server.answer = lambda _: Reply(found)
    assert run(server, lambda client: client.params(question)) == (found,)
    assert paths(server) == [path]


def test_a_custom_kind_is_discovered_once(server: ApiServer) -> None:
    server.answer = custom

    async def work(client: ClusterClient) -> None:
        assert client.known_kind(LIMIT) is None
        assert await client.kind(LIMIT) == (SERVED,)
        assert client.known_kind(LIMIT) == (SERVED,)
        for name in "pq":
            assert await client.params(ParamsOf(*LIMIT, "shop", name)) == (
                object_of("Limit", name),
            )

    run(server, work)
    base = "/apis/limits.dev/v1"
    listed = f"{base}/namespaces/shop/limitss"
    assert paths(server) == [base, f"{listed}/p", f"{listed}/q"]


@pytest.mark.parametrize(
    "reply", [refusal(404, "not found"), Reply({**DISCOVERY, "resources": []})]
)
def test_a_kind_that_nobody_serves_has_no_objects(server: ApiServer, reply: Reply) -> None:
    server.answer = lambda _: reply
    assert run(server, lambda client: client.kind(LIMIT)) == ()
    assert run(server, lambda client: client.params(ParamsOf(*LIMIT, "shop", "p"))) == ()


def test_a_selector_lists_page_by_page(server: ApiServer) -> None:
    def answer(call: Call) -> Reply:
        more = "continue=" not in call.path
        metadata = {"continue": "n"} if more else {}
        return Reply({"kind": "ConfigMapList", "metadata": metadata, "items": [MAP]})

    server.answer = answer
    question = ParamsOf("v1", "ConfigMap", "shop", "", "a=1,b in (x)")
    assert run(server, lambda client: client.params(question)) == (MAP, MAP)
    first, second = paths(server)
    assert first.startswith("/api/v1/namespaces/shop/configmaps?limit=100&labelSelector=a%3D1")
    assert second == f"{first}&continue=n"


def test_an_object_is_remembered_for_a_moment_also_that_it_is_not_there(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(cache, "monotonic", lambda: now[0])
    server.answer = lambda _: refusal(404, "not found")
    question = ParamsOf("v1", "ConfigMap", "shop", "p")

    async def work(client: ClusterClient) -> None:
        assert client.known_params(question) is None
        assert await client.params(question) == ()
        server.answer = lambda _: Reply(MAP)
        assert client.known_params(question) == ()
        now[0] += cache.MEMORY_SECONDS
        assert client.known_params(question) is None
        assert await client.params(question) == (MAP,)

    run(server, work)

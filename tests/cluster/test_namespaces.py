"""Namespace objects from an API server, and for how long they are remembered."""

import asyncio
from typing import Any

import pytest

from policyd._core.lib.authorization import Failure
from policyd.cluster import cache, connect
from tests.cluster.fake import ApiServer, Reply, refusal

NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "shop",
        "labels": {"team": "sales"},
        "creationTimestamp": "2026-11-21T07:00:00Z",
    },
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


def test_a_namespace_is_asked_for_once_a_moment(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer = lambda _: Reply(NAMESPACE, after=0.1)
    now = [100.0]
    monkeypatch.setattr(cache, "monotonic", lambda: now[0])

    async def scenario() -> None:
        client = connect(server.kubeconfig(), 5.0)
        assert client.known_namespace("shop") is None
        found = await asyncio.gather(*(client.namespace("shop") for _ in range(5)))
        assert found == [NAMESPACE] * 5
        assert client.known_namespace("shop") == NAMESPACE
        now[0] += cache.MEMORY_SECONDS
        assert client.known_namespace("shop") is None
        with pytest.raises(TimeoutError):  # who gives up leaves the others waiting
            await asyncio.gather(
                asyncio.wait_for(client.namespace("shop"), 0.02), client.namespace("shop")
            )
        assert await client.namespace("shop") == NAMESPACE
        await client.close()

    asyncio.run(scenario())
    assert [call.path for call in server.calls] == ["/api/v1/namespaces/shop"] * 2


def test_a_namespace_that_is_not_there_is_not_remembered(server: ApiServer) -> None:
    server.answer = lambda _: refusal(404, 'namespaces "shop" not found')

    async def scenario() -> None:
        client = connect(server.kubeconfig(), 5.0)
        for _ in range(2):
            found = await client.namespace("shop")
            assert found == Failure('the API server answered 404: namespaces "shop" not found')
        assert client.known_namespace("shop") is None
        await client.close()

    asyncio.run(scenario())
    assert len(server.calls) == 2


def test_only_so_many_namespaces_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST", 3)

    async def fetch(name: str) -> dict[str, Any]:
        return {"name": name}

    async def scenario() -> None:
        remembered = cache.LookupCache(fetch)
        for name in "abacd":
            await remembered.get(name)
        assert [name for name in "abcd" if remembered.known(name)] == ["a", "c", "d"]

    asyncio.run(scenario())


def test_an_answer_that_hung_does_not_replace_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(cache, "monotonic", lambda: now[0])

    async def scenario() -> None:
        begun, release = asyncio.Event(), asyncio.Event()
        answers = iter(["old", "new"])

        async def fetch(_: str) -> str:
            answer = next(answers)
            if answer == "old":
                begun.set()
                await release.wait()
            return answer

        remembered = cache.LookupCache(fetch)
        hanging = asyncio.ensure_future(remembered.get("a"))
        await begun.wait()
        now[0] += cache.PATIENCE_SECONDS
        assert await remembered.get("a") == "new"
        release.set()
        assert await hanging == "old"
        assert remembered.known("a") == "new"

    asyncio.run(scenario())

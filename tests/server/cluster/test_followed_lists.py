"""Params of a kind that the cluster serves only at times."""

import asyncio
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from time import monotonic

import pytest

from policyd._core.lib.authorization import Failure
from policyd.admission.lookups.params import KindOf
from policyd.cluster import connect
from policyd.observability.logs import Log
from policyd.policy.kinds.served_resource import Served
from policyd.server.cluster import followed_lists, live_caches
from policyd.server.cluster.followed_lists import FollowedLists, Following
from policyd.server.cluster.live_caches import LiveCaches
from policyd.server.health import WatchHealth
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.cluster.fake import ApiServer, api_server, refusal
from tests.cluster.running import SLACK
from tests.cluster.watched import WatchedList
from tests.policy_sets import compiled

LIMITS = Served("limits.dev", "v1", "limits", "Limit", False)
CONFIGURED = policy(
    "p",
    CONFIG_MAPS,
    paramKind={"apiVersion": "limits.dev/v1", "kind": "Limit"},
    paramRef={"name": "x", "parameterNotFoundAction": "Deny"},
    validations=[demand("params.open == true", "closed")],
)


@pytest.fixture
def listed() -> Iterator[WatchedList]:
    made = WatchedList("Limit", "limits.dev/v1")
    yield made
    made.close()


@pytest.fixture
def server(tmp_path: Path, listed: WatchedList) -> Iterator[ApiServer]:
    with api_server(tmp_path, listed.answer) as running:
        yield running


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(SLACK):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_kind_that_comes_goes_and_comes(
    server: ApiServer, listed: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_caches, "KIND_SECONDS", (0.01, 0.05))
    monkeypatch.setattr(followed_lists, "TICK_SECONDS", 0.01)
    served: list[tuple[Served, ...] | Failure] = [Failure("discovery is down")]
    lines = BytesIO()

    async def kind(question: KindOf) -> tuple[Served, ...] | Failure:
        return served[-1]

    async def scenario() -> None:
        client = connect(server.kubeconfig(), 5.0)
        monkeypatch.setattr(client, "kind", kind)
        live = LiveCaches(client, 5.0, Log(lines, "text"), 2**20)
        health, stop = WatchHealth("params", monotonic), asyncio.Event()
        live.follow(compiled(CONFIGURED))
        task = asyncio.create_task(live.params.run(stop, health))
        await until(lambda: not health.healthy)
        assert health.problem == "discovery is down"
        assert live.waiting() == ["waiting for the first list of params"]
        served.append(())  # no such kind: nothing to follow, nothing to wait for
        await until(lambda: health.healthy)
        assert live.waiting() == []
        listed.put("x", open=True)
        served.append((LIMITS,))
        await until(lambda: live.params.state.objects == 1)
        assert live.lookups.known_kind(KindOf("limits.dev/v1", "Limit")) == (LIMITS,)
        for each in ("list", "watch"):
            listed.refused[each] = refusal(404, "the server could not find the resource")
        listed.cut()
        await until(lambda: not health.healthy)
        served.append(())
        await until(lambda: health.healthy)
        assert live.params.state.objects == 0
        listed.refused.clear()
        served.append((LIMITS,))
        await until(lambda: live.params.state.objects == 1)
        stop.set()
        await task
        await live.close()

    asyncio.run(scenario())
    assert "grant" not in lines.getvalue().decode()


class Listed:
    """What a list is while it comes, and then."""

    def __init__(self) -> None:
        self.synced = self.refused = self.gone = False
        self.problem = ""


@pytest.mark.parametrize("needed", [False, True])
def test_readiness_waits_for_a_list_under_way_that_nothing_replaces(
    needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {name: Listed() for name in ("first", "later")}

    async def follow(wanted: str, following: Following) -> None:
        following.reflector = found[wanted]  # type: ignore[assignment]
        await following.pause(SLACK)

    async def scenario() -> None:
        lists = FollowedLists("lists", follow, Log(BytesIO(), "text"), needed=needed)
        stop = asyncio.Event()

        def waits() -> bool:
            return lists.waiting

        lists.want(frozenset(("first",)))
        task = asyncio.create_task(lists.run(stop, WatchHealth("lists", monotonic)))
        assert waits()
        monkeypatch.setattr(followed_lists, "FIRST_LIST_SECONDS", 0.0)  # they are over
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert waits() is needed
        first = found["first"]
        first.problem = "the connection was reset"
        assert not waits()
        first.problem = ""
        assert waits() is needed
        first.synced = True
        assert not waits()
        lists.want(frozenset(("first", "later")))  # a reload: the server stays ready
        assert not waits()
        assert lists.coming(["later"])
        found["later"].problem = "no answer"
        await until(lambda: not lists.coming(["later"]))
        stop.set()
        await task

    asyncio.run(scenario())

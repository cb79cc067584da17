"""Lookups that lists answer, and those that they leave to the API server."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from policyd._core.lib.authorization import Failure
from policyd._core.match.selectors import Selector
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.admission.lookups.wanted import WantedParams
from policyd.cluster import connect
from policyd.cluster.cached.lookups import CachedLookups, CachedParams
from policyd.cluster.namespaces import PATH, kept
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched
from policyd.json_types import JSONObject
from policyd.policy.kinds.served_resource import Served
from tests.cluster.fake import ApiServer, Call, Reply, refusal
from tests.cluster.running import SLACK, first_list
from tests.cluster.watched import WatchedList

GLOBES = Served("example.com", "v1", "globes", "Globe", False)
MAPS = Served("", "v1", "configmaps", "ConfigMap", True)
TEAM = "team=a"


def wanted(served: Served, namespace: str = "", *names: str) -> WantedParams:
    selectors = {TEAM: Selector({"matchLabels": {"team": "a"}})}
    kind = served.api_version, served.kind
    return WantedParams(*kind, namespace, frozenset(names), frozenset(selectors), selectors)


class Setting:
    """A client with lists, and what it asked one by one."""

    def __init__(self, server: ApiServer) -> None:
        self.lists = {
            "/api/v1/namespaces": WatchedList("Namespace"),
            "/api/v1/configmaps": WatchedList(),
            "/api/v1/namespaces/shop/configmaps": WatchedList(),
            "/apis/example.com/v1/globes": WatchedList("Globe"),
        }
        self.asked: list[str] = []
        server.answer = self.answer
        self.client = connect(server.kubeconfig(), 5.0)
        self.lookups = CachedLookups(self.client, 2**20)
        self.objects = ObjectClient(self.client.config, 5.0)
        self.stop = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    def answer(self, call: Call) -> Reply:
        path = call.path.partition("?")[0]
        if path in self.lists and ("limit=500" in call.path or "watch=" in call.path):
            return self.lists[path].answer(call)
        self.asked.append(path)
        return refusal(404, "not there")

    async def follow(self, reflector: Reflector) -> None:
        self.tasks.append(asyncio.create_task(reflector.run(self.stop)))
        assert await first_list(reflector)

    async def params(self, served: Served, namespace: str, *names: str) -> CachedParams:
        these = wanted(served, namespace, *names)
        cached = CachedParams(self.objects, served, these)
        self.lookups.add_params(these, cached)
        await self.follow(cached.reflector)
        return cached

    async def close(self) -> None:
        self.stop.set()
        await asyncio.gather(*self.tasks)
        await self.objects.close()
        await self.client.close()
        for each in self.lists.values():
            each.close()


def run(server: ApiServer, steps: Callable[[Setting], Awaitable[None]]) -> Setting:
    async def scenario() -> Setting:
        made = Setting(server)
        try:
            await steps(made)
        finally:
            await made.close()
        return made

    return asyncio.run(scenario())


NAMESPACE: JSONObject = {
    "metadata": {
        "name": "shop",
        "labels": {"a": "b"},
        "annotations": {"x": "1", "y": "2"},
        "managedFields": [],
    },
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}
LABELS = ("metadata", "labels")
KEPT: dict[str, tuple[set[tuple[str, ...]], JSONObject]] = {
    "labels": ({LABELS}, {"metadata": {"name": "shop", "labels": {"a": "b"}}}),
    "one annotation": (
        {LABELS, ("metadata", "annotations", "x")},
        {"metadata": {"name": "shop", "labels": {"a": "b"}, "annotations": {"x": "1"}}},
    ),
    "an annotation that is not there": (
        {("metadata", "annotations", "z"), ("status", "phase", "none")},
        {"metadata": {"name": "shop", "annotations": {}}, "status": {"phase": "Active"}},
    ),
    "everything": (
        {LABELS, ()},
        {
            **NAMESPACE,
            "metadata": {k: v for k, v in NAMESPACE["metadata"].items() if k != "managedFields"},
        },
    ),
    "everything of the metadata": (
        {("metadata",)},
        {"metadata": {k: v for k, v in NAMESPACE["metadata"].items() if k != "managedFields"}},
    ),
}


@pytest.mark.parametrize(("fields", "rest"), KEPT.values(), ids=KEPT.keys())
def test_only_the_fields_that_are_read_are_kept(
    fields: set[tuple[str, ...]], rest: JSONObject
) -> None:
    assert kept(fields)(NAMESPACE) == rest


def test_a_listed_namespace_is_known(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        it.lists["/api/v1/namespaces"].put("shop", labels={"a": "b"}, spec={}, status={"x": 1})
        reflector = Reflector(it.objects, Watched(PATH), keep=kept({LABELS}))
        it.lookups.namespaces = reflector
        assert it.lookups.known_namespace("shop") is None  # not listed yet
        await it.follow(reflector)
        found = it.lookups.known_namespace("shop")
        assert found is not None
        assert found["metadata"]["labels"] == {"a": "b"}
        assert "status" not in found
        assert it.lookups.known_namespace("other") is None
        assert isinstance(await it.lookups.namespace("other"), Failure)

    assert run(server, steps).asked == ["/api/v1/namespaces/other"]


def test_params_by_name_and_selector(server: ApiServer) -> None:
    def of(namespace: str, name: str = "", selector: str = "") -> ParamsOf:
        return ParamsOf("v1", "ConfigMap", namespace, name, selector)

    async def steps(it: Setting) -> None:
        maps = it.lists["/api/v1/configmaps"]
        maps.put("x", "shop")
        maps.put("x", "store")
        maps.put("y", "shop", labels={"team": "a"})
        maps.put("z", "shop", labels={"team": "b"})
        cached = await it.params(MAPS, "", "x")
        assert len(cached.reflector.objects) == 3
        known = it.lookups.known_params

        def names(question: ParamsOf) -> list[tuple[str, str]]:
            objects = [each["metadata"] for each in known(question) or ()]
            return [(each["namespace"], each["name"]) for each in objects]

        assert names(of("shop", "x")) == [("shop", "x")]
        assert names(of("store", "x")) == [("store", "x")]
        assert names(of("shop", selector=TEAM)) == [("shop", "y")]
        assert it.lookups.known_kind(KindOf("v1", "ConfigMap")) == (MAPS,)
        # Not there: the API server is asked, and its answer known until the list has another.
        assert known(of("shop", "y2")) is known(of("store", selector=TEAM)) is None
        assert await it.lookups.params(of("shop", "y2")) == ()
        assert known(of("shop", "y2")) == ()
        # A selector that is not listed.
        assert known(of("shop", selector="a=b")) is None

    assert run(server, steps).asked == ["/api/v1/namespaces/shop/configmaps/y2"]


def test_params_of_one_namespace_answer_for_no_other(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        it.lists["/api/v1/namespaces/shop/configmaps"].put("x", "shop")
        await it.params(MAPS, "shop", "x")
        assert it.lookups.known_params(ParamsOf("v1", "ConfigMap", "shop", "x"))
        assert it.lookups.known_params(ParamsOf("v1", "ConfigMap", "store", "x")) is None
        it.lookups.keep_params([])
        assert it.lookups.known_params(ParamsOf("v1", "ConfigMap", "shop", "x")) is None

    run(server, steps)


ASKED = {
    "one name": (("x",), (), {"fieldSelector": "metadata.name=x"}),
    "two names": (("x", "y"), (), {}),
    "one selector": ((), (TEAM,), {"labelSelector": TEAM}),
    "all": ((), ("",), {}),
    "a name and a selector": (("x",), (TEAM,), {}),
}


@pytest.mark.parametrize(("names", "selections", "query"), ASKED.values(), ids=ASKED.keys())
def test_the_api_server_sends_no_more_than_a_selector_can_say(
    server: ApiServer,
    names: tuple[str, ...],
    selections: tuple[str, ...],
    query: dict[str, str],
) -> None:
    async def steps(it: Setting) -> None:
        selectors = {text: Selector({}) for text in selections}
        these = WantedParams(
            "v1", "ConfigMap", "", frozenset(names), frozenset(selections), selectors
        )
        cached = CachedParams(it.objects, MAPS, these)
        assert cached.reflector.watched.query() == query

    run(server, steps)


def test_params_without_namespace(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        globes = it.lists["/apis/example.com/v1/globes"]
        globes.put("x")
        cached = await it.params(GLOBES, "", "x")
        question = ParamsOf("example.com/v1", "Globe", "", "x")
        assert it.lookups.known_params(question)
        assert it.lookups.known_kind(KindOf("example.com/v1", "Globe")) == (GLOBES,)
        globes.refused = {name: refusal(404, "gone") for name in ("list", "watch")}
        globes.cut()
        async with asyncio.timeout(SLACK):
            while not cached.reflector.gone:
                await asyncio.sleep(0.01)
        assert it.lookups.known_params(question) is None
        assert it.lookups.known_kind(KindOf("example.com/v1", "Globe")) is None

    run(server, steps)


def test_a_failure_after_a_refusal_does_not_make_a_list_usable(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        namespaces = it.lists["/api/v1/namespaces"]
        namespaces.put("shop")
        namespaces.refused["watch"] = refusal(403, "no")
        reflector = Reflector(it.objects, Watched(PATH))
        it.lookups.namespaces = reflector
        await it.follow(reflector)
        async with asyncio.timeout(SLACK):
            while not reflector.refused:
                await asyncio.sleep(0.01)
            namespaces.refused["watch"] = Reply(b"", 503)
            while "503" not in reflector.problem:
                await asyncio.sleep(0.01)
        assert it.lookups.known_namespace("shop") is None

    run(server, steps)

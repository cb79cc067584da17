"""Objects of reads in lists: in step with an API server, for several reads, within a bound."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from policyd._core.lib.authorization import Failure
from policyd.admission.lookups.wanted import WantedReads, fields_of
from policyd.cluster.cached.reads import CachedReads, ReadList, memory_of
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.kinds.served_resource import Served
from tests.builders.reads import HOSTS, Request, compiled_read
from tests.cluster.fake import ApiServer, Call, Reply, refusal
from tests.cluster.running import SLACK, first_list
from tests.cluster.watched import WatchedList

MAPS = Served("", "v1", "configmaps", "ConfigMap", True)
NAMES = ("reads.maps.all(m, m.metadata.name != '')",)
EVERYWHERE = compiled_read(*NAMES, namespace="any", self=True)
KEYED = compiled_read("'x' in reads.maps", namespace="any", key=HOSTS)
NOBODY = Request("shop", "")


def wanting(*reads: CompiledRead, namespace: str = "") -> WantedReads:
    return WantedReads("v1", "ConfigMap", namespace, fields_of(reads), frozenset(reads))


class Setting:
    """Lists of a fake API server, and how to wait for them."""

    def __init__(self, server: ApiServer, most: int) -> None:
        self.maps, self.of_shop = WatchedList(), WatchedList()
        server.answer = self.answer
        self.client = ObjectClient(configuration(server.kubeconfig()), 5.0)
        self.reads = CachedReads(most)
        self.stop = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    def answer(self, call: Call) -> Reply:
        in_shop = "namespaces/shop" in call.path
        return (self.of_shop if in_shop else self.maps).answer(call)

    def start(self, wanted: WantedReads) -> ReadList:
        """Follow a list."""
        listed = ReadList(self.client, MAPS, wanted, self.reads)
        self.reads.add(listed)
        self.tasks.append(asyncio.create_task(listed.reflector.run(self.stop)))
        return listed

    async def follow(self, *reads: CompiledRead, namespace: str = "") -> ReadList:
        """Want these reads and no others, and wait for their list."""
        wanted = wanting(*reads, namespace=namespace)
        self.reads.want([wanted])
        listed = self.start(wanted)
        assert await first_list(listed.reflector)
        return listed

    def shown(self, read: CompiledRead) -> Any:
        """What a request sees, by namespace/name."""
        table = self.reads.known_table(read)
        assert isinstance(table, ReadTable), table
        return names(table.shown_to(NOBODY))

    def problem(self, read: CompiledRead) -> str:
        found = self.reads.known_table(read)
        return found.why if isinstance(found, Failure) else ""

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SLACK):
            while not condition():
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        self.stop.set()
        await asyncio.gather(*self.tasks)
        await self.client.close()
        self.maps.close()
        self.of_shop.close()


def names(shown: Any) -> Any:
    if isinstance(shown, dict):
        return {key: names(found) for key, found in shown.items()}
    return [f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in shown]


def run(
    server: ApiServer, steps: Callable[[Setting], Awaitable[None]], most: int = 2**20
) -> Setting:
    async def scenario() -> Setting:
        made = Setting(server, most)
        try:
            await steps(made)
        finally:
            await made.close()
        return made

    return asyncio.run(scenario())


def put(maps: WatchedList, name: str, hosts: JSON = None, namespace: str = "shop") -> None:
    maps.put(name, namespace, data={"hosts": [] if hosts is None else hosts, "more": "x" * 100})


def test_a_list_is_shown_as_it_is_after_each_event(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        put(it.maps, "b", ["x"])
        listed = await it.follow(EVERYWHERE, KEYED)
        assert it.shown(EVERYWHERE) == ["shop/b"]
        put(it.maps, "a", ["x", "y"])
        await it.until(lambda: len(listed) == 2)
        assert it.shown(EVERYWHERE) == ["shop/a", "shop/b"]
        assert it.shown(KEYED) == {"x": ["shop/a", "shop/b"], "y": ["shop/a"]}
        put(it.maps, "b", ["y"])
        await it.until(lambda: it.shown(KEYED) == {"x": ["shop/a"], "y": ["shop/a", "shop/b"]})
        it.maps.remove("a", "shop")
        await it.until(lambda: it.shown(KEYED) == {"y": ["shop/b"]})
        assert it.shown(EVERYWHERE) == ["shop/b"]
        assert it.reads.events["v1", "ConfigMap"] == 3
        assert listed.key_errors == 0
        put(it.maps, "b", 5)
        await it.until(lambda: listed.key_errors == 1)
        assert it.shown(KEYED) == {}
        # A new list that has other objects than the one before.
        metadata = {"name": "c", "namespace": "shop", "resourceVersion": "90"}
        it.maps.objects["shop", "c"] = {"metadata": metadata, "data": {"hosts": ["z"]}}
        it.maps.forget()
        it.maps.cut()
        await it.until(lambda: it.shown(KEYED) == {"z": ["shop/c"]})
        assert it.shown(EVERYWHERE) == ["shop/b", "shop/c"]

    assert len(run(server, steps).maps.lists) == 2


def test_only_fields_that_are_used_are_kept(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        put(it.maps, "a", ["x"])
        await it.follow(KEYED)
        table = it.reads.known_table(KEYED)
        assert isinstance(table, ReadTable)
        metadata = {"name": "a", "namespace": "shop"}
        kept = {"metadata": metadata, "data": {"hosts": ["x"]}}
        assert table.shown_to(NOBODY) == {"x": [kept]}

    run(server, steps)


def test_a_read_of_one_namespace_follows_that_one(server: ApiServer) -> None:
    read = compiled_read(*NAMES, namespace="shop")

    async def steps(it: Setting) -> None:
        put(it.of_shop, "a")
        await it.follow(read, namespace="shop")
        assert it.shown(read) == ["shop/a"]
        assert it.problem(EVERYWHERE) == "the objects are not followed"

    assert run(server, steps).maps.lists == []


@pytest.mark.parametrize("what", ["list", "watch"])
@pytest.mark.parametrize("code", [403, 404])
def test_without_permission_or_resource_there_is_the_reason(
    server: ApiServer, what: str, code: int
) -> None:
    async def steps(it: Setting) -> None:
        put(it.maps, "a")
        it.maps.refused[what] = refusal(code, f"policyd may not {what}")
        it.reads.want([wanting(EVERYWHERE)])
        it.start(wanting(EVERYWHERE))
        await it.until(lambda: it.problem(EVERYWHERE))
        assert f"policyd may not {what}" in it.problem(EVERYWHERE)
        it.maps.refused.clear()
        await it.until(lambda: not it.problem(EVERYWHERE))
        await it.until(lambda: it.reads.known_table(EVERYWHERE) is not None)
        assert it.shown(EVERYWHERE) == ["shop/a"]

    run(server, steps)


def test_a_kind_that_appears_later_answers_from_then_on(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        put(it.maps, "a")
        wanted = wanting(EVERYWHERE)
        it.reads.want([wanted])
        assert it.reads.known_table(EVERYWHERE) is None
        it.reads.failed(wanted, "the cluster has no kind ConfigMap of v1")
        assert it.problem(EVERYWHERE) == "the cluster has no kind ConfigMap of v1"
        it.start(wanted)
        await it.until(lambda: not it.problem(EVERYWHERE))
        assert it.shown(EVERYWHERE) == ["shop/a"]
        # And gone again.
        it.maps.refused = dict.fromkeys(("list", "watch"), refusal(404, "gone"))
        it.maps.forget()
        it.maps.cut()
        await it.until(lambda: "gone" in it.problem(EVERYWHERE))
        assert [*it.reads.in_use()] == [(("v1", "ConfigMap"), None)]

    run(server, steps)


def test_the_list_before_answers_until_one_with_more_fields_is_complete(
    server: ApiServer,
) -> None:
    other = compiled_read("reads.maps.all(m, has(m.immutable))", namespace="any")

    async def steps(it: Setting) -> None:
        put(it.maps, "a")
        before = await it.follow(EVERYWHERE)
        it.maps.refused["list"] = Reply(b"", 503)
        wanted = wanting(EVERYWHERE, other)
        it.reads.want([wanted])
        assert it.reads.known_table(other) is None
        assert await it.reads.fill([wanted]) is False
        after = it.start(wanted)
        await it.until(lambda: after.reflector.problem)
        assert it.shown(EVERYWHERE) == ["shop/a"]
        assert it.reads.known_table(other) is None  # the list before has not its fields
        asked = asyncio.create_task(it.reads.table(other))
        it.maps.refused.clear()
        found = await asyncio.wait_for(asked, SLACK)
        assert isinstance(found, ReadTable)
        assert it.shown(EVERYWHERE) == it.shown(other) == ["shop/a"]
        assert before.covers(EVERYWHERE.fields) and not before.covers(other.fields)
        # An equal read of another policy may use more fields.
        whole = compiled_read("reads.maps.all(m, m == object)", namespace="any")
        assert whole == other
        assert it.reads.known_table(whole) is None
        assert [listed for _, listed in it.reads.in_use()] == [after]

    run(server, steps)


def test_both_sets_are_answered_while_one_replaces_the_other(server: ApiServer) -> None:
    other = compiled_read("reads.maps.all(m, has(m.data))", namespace="any")

    async def steps(it: Setting) -> None:
        put(it.maps, "a")
        before = await it.follow(EVERYWHERE)
        assert it.reads.expect([wanting(other)]) == [wanting(other)]
        after = it.start(wanting(other))
        assert await first_list(after.reflector)
        assert await it.reads.fill([wanting(other)])
        assert it.shown(EVERYWHERE) == it.shown(other) == ["shop/a"]
        assert len(it.reads._lists["v1", "ConfigMap", ""]) == 2
        it.reads.want([wanting(other)])
        assert it.shown(other) == ["shop/a"]
        assert it.reads._lists["v1", "ConfigMap", ""] == [after]
        assert before is not after

    run(server, steps)


def test_objects_that_are_too_old_are_an_error(server: ApiServer) -> None:
    read = compiled_read(*NAMES, namespace="any", maxStalenessSeconds=5)

    async def steps(it: Setting) -> None:
        put(it.maps, "a")
        listed = await it.follow(read, EVERYWHERE)
        it.maps.refused = dict.fromkeys(("list", "watch"), Reply(b"", 503))
        it.maps.cut()
        await it.until(lambda: listed.reflector.problem)
        assert it.shown(read) == ["shop/a"]
        listed.reflector.clock = lambda: now + 6
        now = listed.reflector._current_at
        old = "the objects are 6 s old, and maxStalenessSeconds is 5: "
        assert it.problem(read).startswith(old)
        assert it.shown(EVERYWHERE) == ["shop/a"]  # 300 s

    run(server, steps)


def test_reads_that_nobody_wants_are_forgotten(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        put(it.maps, "a", ["x"])
        listed = await it.follow(EVERYWHERE, KEYED)
        both = listed.bytes
        it.reads.want([wanting(KEYED)])
        assert it.problem(EVERYWHERE) == "the objects are not followed"
        assert it.shown(KEYED) == {"x": ["shop/a"]}
        assert listed.bytes < both
        it.reads.want([])
        assert it.problem(KEYED) == "the objects are not followed"
        assert it.reads.bytes() == 0

    run(server, steps)


def test_a_read_is_added_beside_those_in_use(server: ApiServer) -> None:
    """As by a reload, before its policies are in use: in small steps, with events between them."""

    async def steps(it: Setting) -> None:
        for at in range(300):
            put(it.maps, f"m{at:03}", [f"h{at}"])
        listed = await it.follow(EVERYWHERE, KEYED)
        wanted = wanting(EVERYWHERE, KEYED)
        it.reads.want([wanting(EVERYWHERE)])
        new = it.reads.expect([wanted])
        assert new == [wanted]
        assert it.reads.expect([wanted]) == []
        filling = asyncio.create_task(it.reads.fill(new))
        await asyncio.sleep(0)
        put(it.maps, "m000", ["other"])
        it.maps.remove("m299", "shop")
        put(it.maps, "n", ["last"])
        assert await filling
        await it.until(lambda: len(listed) == 300 and "last" in it.shown(KEYED))
        await it.until(lambda: "other" in it.shown(KEYED))
        assert it.shown(KEYED).keys() == {"other", "last", *(f"h{at}" for at in range(1, 299))}
        assert len(it.shown(EVERYWHERE)) == 300

    run(server, steps)


def test_a_read_that_is_not_known_yet_is_waited_for(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        new = it.reads.expect([wanting(KEYED)])
        assert await it.reads.fill(new) is False
        it.reads.failed(wanting(KEYED), "no such kind")
        assert await it.reads.fill(new) is True

    run(server, steps)


def large(at: int) -> JSONObject:
    return {"hosts": [f"h{at}"], "pad": "x" * 10_000}


WHOLE = compiled_read("reads.maps.all(m, m != object)", namespace="any", self=True)
SHOP = compiled_read(*NAMES, namespace="shop")


@pytest.mark.parametrize("slowly", [False, True])
def test_a_list_that_grows_past_the_bound_is_given_up_and_others_go_on(
    server: ApiServer, *, slowly: bool
) -> None:
    async def steps(it: Setting) -> None:
        put(it.of_shop, "a")
        wanted = wanting(WHOLE), wanting(SHOP, namespace="shop")
        it.reads.want(wanted)
        of_shop = it.start(wanted[1])
        for at in range(5 if slowly else 50):
            it.maps.put(f"m{at}", "store", data=large(at))
        listed = it.start(wanted[0])
        assert await first_list(listed.reflector)
        assert await first_list(of_shop.reflector)
        assert listed.full is not slowly
        for at in range(5, 50):
            it.maps.put(f"m{at}", "store", data=large(at))
        await it.until(listed.is_full)
        assert it.problem(WHOLE) == (
            "they take more memory than --max-read-bytes (0 MiB) leaves for them next to the other reads"
        )
        assert listed.bytes == 0
        assert it.reads.bytes() < 5_000
        assert it.shown(SHOP) == ["shop/a"]
        put(it.of_shop, "b")
        await it.until(lambda: it.shown(SHOP) == ["shop/a", "shop/b"])
        it.reads.failed(wanted[0], listed.problem)  # as the server does, which lists later again
        assert [each for _, each in it.reads.in_use()] == [None, of_shop]
        for at in range(48):
            it.maps.remove(f"m{at}", "store")
        again = it.start(wanted[0])
        assert "--max-read-bytes" in it.problem(WHOLE)  # until it is known that it fits
        assert await first_list(again.reflector)
        assert it.shown(WHOLE) == ["store/m48", "store/m49"]

    run(server, steps, most=200_000)


def test_the_same_list_again_takes_no_more_memory(server: ApiServer) -> None:
    async def steps(it: Setting) -> None:
        for at in range(15):
            it.maps.put(f"m{at}", "shop", data=large(at))
        listed = await it.follow(WHOLE)
        before = listed.bytes
        objects = {id(each) for each in listed.reflector.objects.values()}
        changed = it.maps.objects["shop", "m0"]
        it.maps.objects["shop", "m0"] = {**changed, "data": large(99)}  # and no event
        it.maps.forget()
        it.maps.cut()
        await it.until(lambda: len(it.maps.lists) == 2)
        await it.until(lambda: "h99" in str(listed.reflector.objects["shop", "m0"]))
        again = {id(each) for each in listed.reflector.objects.values()}
        assert len(objects & again) >= 14
        assert abs(listed.bytes - before) < 100

    run(server, steps, most=250_000)


def test_memory_is_about_what_python_takes() -> None:
    assert 1_000 <= memory_of("x" * 1000) <= 1_100
    assert 5_000 <= memory_of([["x"] * 100]) <= 7_000
    assert 10_000 <= memory_of({"k" * 10_000: 1}) <= 10_500
    assert 500 <= memory_of({"a": {"b": {"c": None}}}) <= 900

"""A list kept in step with an API server: over real connections to one that also misbehaves."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from policyd.cluster import streams, watching
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.cluster.watching import Reflector, Watched
from policyd.json_types import JSONObject
from tests.cluster.fake import ApiServer, Reply, refusal
from tests.cluster.running import PATH, Running, first_list, scenario
from tests.cluster.watched import WatchedList


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LONGEST_PAUSE_SECONDS", 0.05)


def test_objects_follow_the_api_server(server: ApiServer, watched: WatchedList) -> None:
    watched.put("a", "shop", data={"x": "1"})
    watched.put("b", "shop")

    async def steps(run: Running) -> None:
        assert await first_list(run.reflector)
        assert run.names == ["a", "b"]
        watched.put("c", "shop")
        watched.put("a", "shop", data={"x": "2"})
        watched.remove("b", "shop")
        await run.until(lambda: run.names == ["a", "c"], "the last event")

    run = scenario(server, steps)
    assert run.reflector.objects["shop", "a"]["data"] == {"x": "2"}
    assert run.changes == [("", ""), ("shop", "c"), ("shop", "a"), ("shop", "b")]
    assert run.reflector.problem == ""
    assert len(watched.lists) == len(watched.watches) == 1
    assert watched.watches[0]["allowWatchBookmarks"] == "true"
    assert 300 <= int(watched.watches[0]["timeoutSeconds"]) <= 600


def test_listed_objects_have_a_type_as_those_of_events_do(
    server: ApiServer, watched: WatchedList
) -> None:
    watched.put("a")

    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        watched.put("b")
        await run.until(lambda: len(run.names) == 2, "the event")

    run = scenario(server, steps)
    for each in run.reflector.objects.values():
        assert (each["apiVersion"], each["kind"]) == ("v1", "ConfigMap")


def test_selectors_and_metadata_only(server: ApiServer, watched: WatchedList) -> None:
    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        await run.until(lambda: watched.open, "the watch")

    at = Watched(PATH, "a=b", "metadata.name=c", metadata_only=True)
    scenario(server, steps, at)
    for query in (watched.lists[0], watched.watches[0]):
        assert query["labelSelector"] == "a=b"
        assert query["fieldSelector"] == "metadata.name=c"
    assert watched.accepted == [
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ]


def test_only_what_keep_returns_is_kept(server: ApiServer, watched: WatchedList) -> None:
    def keep(found: JSONObject) -> JSONObject | None:
        return found.get("data")

    watched.put("a", data={"x": "1"})
    watched.put("b")

    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        assert run.reflector.objects == {("", "a"): {"x": "1"}}
        watched.put("a", data={"x": "1"}, other="not kept")  # so nothing changes
        watched.put("b", data={"y": "2"})
        await run.until(lambda: len(run.names) == 2, "b")
        watched.put("a")
        await run.until(lambda: run.names == ["b"], "a no longer kept")

    run = scenario(server, steps, keep=keep)
    assert run.changes == [("", ""), ("", "b"), ("", "a")]


def test_pages(server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PAGE", 10)
    for number in range(35):
        watched.put(f"n{number}")
    watched.expired_pages = 1  # then the list begins again

    async def steps(run: Running) -> None:
        assert await first_list(run.reflector)
        assert len(run.names) == 35

    run = scenario(server, steps)
    assert [each.get("continue") for each in watched.lists] == [None, "10", None, "10", "20", "30"]
    assert run.changes == [("", "")]


def test_pages_of_large_objects_have_fewer_of_them(
    server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MAX_LIST_PAGE_BYTES", 20_000)
    monkeypatch.setattr(watching, "PAGE", 64)
    for number in range(30):
        watched.put(f"n{number}", data={"x": "y" * 3000})

    async def steps(run: Running) -> None:
        assert await first_list(run.reflector)
        assert len(run.names) == 30

    scenario(server, steps)
    assert [each["limit"] for each in watched.lists][:3] == ["64", "16", "4"]


def gone(watched: WatchedList) -> None:
    watched.forget()
    watched.end()


ENDINGS: dict[str, tuple[Callable[[WatchedList], None], bool]] = {
    "its time is over": (WatchedList.end, False),
    "cut off": (WatchedList.cut, False),
    "what follows is no longer known": (gone, True),
    "ERROR 410": (lambda it: it.error(code=410, reason="Expired"), True),
    "ERROR 500": (lambda it: it.error(code=500, reason="InternalError", message="boom"), True),
    "no JSON": (lambda it: it.send(b"{\n"), True),
    "no event": (lambda it: it.send(b"[]\n"), True),
    "no object": (lambda it: it.send(b'{"type": "ADDED"}\n'), True),
    "no version": (lambda it: it.send(b'{"type": "ADDED", "object": {"metadata": {}}}\n'), True),
    "unknown type": (
        lambda it: it.send(
            b'{"type": "X", "object": {"metadata": {"name": "a", "resourceVersion": "99"}}}\n'
        ),
        True,
    ),
    "an earlier version": (lambda it: it.bookmark(1), True),
    "too large": (lambda it: it.send(b" " * (4 * 2**20)), True),
}


@pytest.mark.parametrize(("end", "lists"), ENDINGS.values(), ids=ENDINGS.keys())
def test_a_watch_that_ends_goes_on(
    server: ApiServer,
    watched: WatchedList,
    end: Callable[[WatchedList], None],
    lists: bool,
) -> None:
    watched.put("a")

    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        await run.until(lambda: watched.open, "the watch")
        end(watched)
        await run.until(lambda: len(watched.watches) > 1, "another watch")
        watched.put("b")
        await run.until(lambda: run.names == ["a", "b"], "the event after it")
        await run.until(lambda: run.reflector.problem == "", "the end of the problem")
        assert run.reflector.staleness == 0.0

    scenario(server, steps)
    assert (len(watched.lists) > 1) == lists


@pytest.mark.parametrize("what", ["list", "watch"])
def test_a_missing_right_is_told_and_tried_again(
    server: ApiServer, watched: WatchedList, what: str
) -> None:
    watched.put("a")
    watched.refused[what] = refusal(403, f"configmaps is forbidden: cannot {what}")

    async def steps(run: Running) -> None:
        await run.until(lambda: run.reflector.refused, "the refusal")
        assert f"cannot {what}" in run.reflector.problem
        assert run.reflector.synced == (what == "watch")
        assert run.reflector.staleness > 0
        del watched.refused[what]
        await run.until(lambda: watched.open, "the watch")
        await run.until(lambda: not run.reflector.refused, "no refusal")
        assert run.reflector.problem == ""
        assert run.names == ["a"]

    scenario(server, steps)


def test_the_last_state_stays_while_the_api_server_is_away(
    server: ApiServer, watched: WatchedList
) -> None:
    watched.put("a")

    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        for each in ("list", "watch"):
            watched.refused[each] = Reply(b"", 503)
        gone(watched)
        await run.until(lambda: run.reflector.problem, "a problem")
        assert run.names == ["a"]
        assert run.reflector.synced
        stale = run.reflector.staleness
        await run.until(lambda: run.reflector.staleness > stale, "growing staleness")
        watched.remove("a")
        watched.refused.clear()
        await run.until(lambda: run.names == [], "the list after it")

    scenario(server, steps)


def test_a_watch_that_stalls_lists_again(
    server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "STALL_SECONDS", 0.2)

    async def steps(run: Running) -> None:
        await run.until(lambda: len(watched.lists) > 1, "another list")

    scenario(server, steps)


def test_a_watch_that_outlasts_its_time_is_begun_again(
    server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "WATCH_SECONDS", (0.1, 0.2))
    monkeypatch.setattr(watching, "OVERTIME_SECONDS", 0.1)

    async def steps(run: Running) -> None:
        await run.until(lambda: len(watched.watches) > 2, "watches")
        assert run.reflector.problem == ""

    scenario(server, steps)
    assert len(watched.lists) == 1


def test_bookmarks_move_where_a_watch_begins(server: ApiServer, watched: WatchedList) -> None:
    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        await run.until(lambda: watched.open, "the watch")
        watched.bookmark()
        watched.end()
        await run.until(lambda: len(watched.watches) > 1, "another watch")

    scenario(server, steps)
    assert [each["resourceVersion"] for each in watched.watches] == ["1", "2"]
    assert len(watched.lists) == 1


def test_staleness_counts_from_the_last_sign_of_life(
    server: ApiServer, watched: WatchedList
) -> None:
    now = [1000.0]

    async def steps(run: Running) -> None:
        await first_list(run.reflector)
        now[0] += 1
        await run.until(lambda: run.reflector.staleness == 0.0, "the watch")
        now[0] += 80
        assert run.reflector.staleness == 0.0  # no more than the next bookmark is missing
        now[0] += 50
        assert run.reflector.staleness == 130.0
        watched.bookmark()
        await run.until(lambda: run.reflector.staleness == 0.0, "the bookmark")
        watched.refused["watch"] = Reply(b"", 503)
        now[0] += 7
        watched.cut()
        await run.until(lambda: run.reflector.problem, "a problem")
        assert run.reflector.staleness == 7.0

    scenario(server, steps, clock=lambda: now[0])


def test_failures_do_not_become_a_storm(
    server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(watching, "LONGEST_PAUSE_SECONDS", 30.0)

    def pause(least: float, most: float) -> float:
        if least:
            return most  # the time of a watch
        pauses.append(most)
        return 0.0

    monkeypatch.setattr(random, "uniform", pause)
    watched.refused["list"] = refusal(403, "no")

    async def steps(run: Running) -> None:
        await run.until(lambda: len(pauses) > 12, "pauses")

    scenario(server, steps)
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert max(pauses) == 30.0


def test_large_lists_and_many_events_leave_turns_to_others(
    server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    monkeypatch.setattr(streams, "TURN_SECONDS", 0.0)
    for number in range(400):
        watched.put(f"n{number}")

    async def steps(run: Running) -> None:
        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        assert await first_list(run.reflector)
        task.cancel()

    scenario(server, steps)
    assert turns > 400


def test_a_defect_of_a_callback_is_raised(server: ApiServer, watched: WatchedList) -> None:
    def changed(namespace: str, name: str) -> None:
        raise AssertionError("a defect")

    async def run() -> None:
        made = ObjectClient(configuration(server.kubeconfig()), 5.0)
        try:
            await Reflector(made, Watched(PATH), changed=changed).run(asyncio.Event())
        finally:
            await made.close()

    with pytest.raises(AssertionError, match="a defect"):
        asyncio.run(run())


def test_nothing_is_synced_before_the_first_list(server: ApiServer, watched: WatchedList) -> None:
    watched.refused["list"] = refusal(500, "boom")

    async def steps(run: Running) -> None:
        assert not await first_list(run.reflector, 0.01)
        assert not run.reflector.objects

    scenario(server, steps)


def test_an_object_that_is_too_large_is_a_problem_and_no_end(
    server: ApiServer, watched: WatchedList, tmp_path: Path
) -> None:
    watched.put("a", data={"x": "y" * (9 * 2**20)})

    async def steps(run: Running) -> None:
        await run.until(lambda: run.reflector.problem, "the problem")
        assert "larger than" in run.reflector.problem
        watched.put("a", data={})
        await run.until(lambda: run.names == ["a"], "the object")

    scenario(server, steps)
    assert watched.lists[1]["limit"] == "125"

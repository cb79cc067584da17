"""Lists that are read again although their watch works, and how a lost API server is noticed."""

import asyncio
import os
import random
import socket
import stat
import sys
from math import inf
from pathlib import Path

import pytest

from policyd.cluster import watching
from policyd.cluster.watching import OVERTIME_SECONDS, RELIST_SECONDS, Watched
from policyd.controllers.config_maps import FollowedConfigMaps
from tests.cluster.fake import ApiServer
from tests.cluster.running import PATH, Running, first_list, scenario
from tests.cluster.watched import WatchedList


def test_a_list_is_read_again_whatever_its_events_said(
    server: ApiServer, watched: WatchedList
) -> None:
    now = [1000.0]
    watched.put("a")
    watched.put("b")

    async def steps(run: Running) -> None:
        await run.until(lambda: watched.open, "the watch")
        del watched.objects["", "a"]  # and no event of it
        watched.end()
        await run.until(lambda: len(watched.watches) > 1, "another watch")
        assert run.names == ["a", "b"], "it continued"
        now[0] += RELIST_SECONDS
        watched.end()
        await run.until(lambda: run.names == ["b"], "the list")
        assert run.changes == [("", ""), ("", "")]
        await run.until(lambda: len(watched.watches) > 2, "another watch")
        now[0] += RELIST_SECONDS
        watched.end()
        await run.until(lambda: len(watched.watches) > 3, "another watch")

    run = scenario(server, steps, clock=lambda: now[0], relist=RELIST_SECONDS)
    assert len(watched.lists) == 3
    assert run.changes == [("", ""), ("", "")], "the last list was the same"
    lasts = [int(each["timeoutSeconds"]) for each in watched.watches]
    assert max(lasts) + OVERTIME_SECONDS <= RELIST_SECONDS


@pytest.mark.parametrize("relist", [inf, RELIST_SECONDS])
def test_an_api_server_that_was_restored_from_a_backup_is_listed_at_once(
    server: ApiServer, watched: WatchedList, relist: float
) -> None:
    """It would show nothing to a watch that begins where the last one ended."""
    watched.put("a")
    watched.put("b")

    async def steps(run: Running) -> None:
        await run.until(lambda: watched.open, "the watch")
        watched.restore("a")
        await run.until(lambda: run.names == ["a"], "the list")
        await run.until(lambda: watched.open, "the watch")
        watched.put("c")
        await run.until(lambda: run.names == ["a", "c"], "the event")

    # The time stands still: nothing else makes a list due.
    scenario(server, steps, clock=lambda: 1000.0, relist=relist)
    assert len(watched.lists) == 2
    assert [each["resourceVersion"] for each in watched.watches] == ["3", "1"]


def test_a_watch_continues_after_a_look_at_one_object(
    server: ApiServer, watched: WatchedList
) -> None:
    for name in "abc":
        watched.put(name)

    async def steps(run: Running) -> None:
        for count in range(1, 4):
            await run.until(lambda: len(watched.watches) == count, "the watch")  # noqa: B023
            watched.end()
        await run.until(lambda: len(watched.watches) == 4, "the watch")

    at = Watched(PATH, "a=b", metadata_only=True)
    scenario(server, steps, at)
    assert len(watched.lists) == 1
    assert watched.looks == [{"labelSelector": "a=b", "limit": "1"}] * 3
    assert watched.accepted[2] == watched.accepted[0], "metadata only"


@pytest.mark.parametrize(
    ("namespaces", "often"), [(["policyd"], True), (["shop", "bank"], True), (None, False)]
)
def test_config_maps_are_listed_again_however_well_their_watch_works(
    server: ApiServer, watched: WatchedList, namespaces: list[str] | None, *, often: bool
) -> None:
    """All ConfigMaps of a cluster are too many for that."""

    async def steps(run: Running) -> None:
        stop = asyncio.Event()
        followed = FollowedConfigMaps(run.client, namespaces, "a=b")
        task = asyncio.create_task(followed.run(stop))
        watches = 1 + len(namespaces or [""])  # the scenario has one of its own
        await run.until(lambda: len(watched.watches) == watches, "the watches")
        stop.set()
        await task

    scenario(server, steps)
    selected = [each for each in watched.watches if "labelSelector" in each]
    longest = max(int(each["timeoutSeconds"]) for each in selected)
    assert (longest + OVERTIME_SECONDS <= RELIST_SECONDS) is often


def test_regular_ends_of_watches_are_no_failures(
    server: ApiServer, watched: WatchedList, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, pauses = [1000.0], list[float]()
    monkeypatch.setattr(watching, "LONGEST_PAUSE_SECONDS", 30.0)

    def pause(least: float, most: float) -> float:
        if not least:
            pauses.append(most)
        return least

    monkeypatch.setattr(random, "uniform", pause)

    async def steps(run: Running) -> None:
        for count in range(1, 5):
            await run.until(lambda: len(watched.watches) == count, "the watch")  # noqa: B023
            watched.put(f"c{count}")
            await run.until(lambda: len(run.names) == count, "the event")  # noqa: B023
            now[0] += RELIST_SECONDS
            watched.end()

    scenario(server, steps, clock=lambda: now[0], relist=RELIST_SECONDS)
    assert max(pauses) == watching.PAUSE_SECONDS


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other options")
def test_a_watch_whose_packets_are_lost_ends_within_half_a_minute(
    server: ApiServer, watched: WatchedList
) -> None:
    """By the keepalive of TCP: nothing else is sent on such a connection."""
    port = int(server.url.rpartition(":")[2])

    async def steps(run: Running) -> None:
        assert await first_list(run.reflector)
        await run.until(lambda: run.reflector.staleness == 0.0, "the watch")
        times = [time for time in map(_lost_after, _connections(port)) if time]
        assert times == [30], "seconds"

    scenario(server, steps)


def _connections(port: int) -> list[socket.socket]:
    """The connections of this process to a port, each by another descriptor."""
    found = []
    for name in Path("/proc/self/fd").iterdir():
        if not name.exists() or not stat.S_ISSOCK(name.stat().st_mode):
            continue
        made = socket.socket(fileno=os.dup(int(name.name)))
        try:
            to = made.getpeername()
        except OSError:
            to = None
        if isinstance(to, tuple) and to[1] == port:
            found.append(made)
        else:
            made.close()
    return found


def _lost_after(connection: socket.socket) -> int:
    """After how many seconds a silent peer is given up; 0: never."""
    with connection:
        if not connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE):
            return 0
        names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        idle, pause, count = (connection.getsockopt(socket.IPPROTO_TCP, each) for each in names)
        return idle + pause * count

"""The health of watches, without a server."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from starlette.requests import Request

from policyd.http.lifecycle import Lifecycle
from policyd.http.status import Render, Status
from policyd.observability.logs import Log
from policyd.server import health as watches_module
from policyd.server.health import SILENCE_SECONDS, WatchSupervisor
from policyd.server.policies.store import Store
from tests.server.fakes import load


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_watch_that_fails_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches_module, "RESTART_SECONDS", 0.001)
    stream = io.BytesIO()
    watches = WatchSupervisor(100, Log(stream))
    watch = watches.add("policies")
    stop = asyncio.Event()
    tries: list[bool] = []

    async def work() -> None:
        tries.append(watch.healthy)
        if len(tries) < 4:
            raise ValueError("no luck")
        watch.succeeded()
        stop.set()

    asyncio.run(asyncio.wait_for(watches.keep(watch, work, stop), 300))
    assert tries == [True, False, False, False]
    [line] = map(json.loads, stream.getvalue().splitlines())
    assert line["message"] == "cannot watch the policies for changes: ValueError: no luck"
    assert (line["event"], line["watch"], line["count"]) == ("watch", "policies", 1)
    assert watches.health() == {"policies": True}


def test_a_watch_that_hangs_is_unhealthy_and_after_the_grace_not_ready() -> None:
    clock = Clock()
    watches = WatchSupervisor(100, Log(io.BytesIO()), clock)
    first, second = watches.add("policies"), watches.add("certificates")
    clock.now = SILENCE_SECONDS + 1
    second.succeeded()
    assert watches.health() == {"policies": False, "certificates": True}
    assert watches.stale() == []
    clock.now = 101.0
    second.succeeded()
    (reason,) = watches.stale()
    assert reason.startswith("no check of the policies for changes has succeeded for 101 s")
    first.succeeded()
    assert watches.stale() == []
    assert watches.health() == {"policies": True, "certificates": True}


class NothingToShow:
    def prepare(self, _: str) -> Render:
        return lambda: (b"", "")


def test_a_dead_watch_turns_readiness_off(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("allow a")
    store = Store([tmp_path], load)
    store.start()
    lifecycle = Lifecycle()
    lifecycle.listening = True
    clock = Clock()
    watches = WatchSupervisor(100, Log(io.BytesIO()), clock)
    watch = watches.add("policies")
    status = Status(store, lifecycle, NothingToShow(), watches.stale)

    def ready() -> tuple[int, bytes]:
        answer = asyncio.run(status.ready(Request({"type": "http"})))
        return answer.status_code, bytes(answer.body)

    assert ready() == (200, b"ok")
    clock.now = 101.0
    watch.failed("OSError: no luck")
    code, text = ready()
    assert code == 503
    assert b"no check of the policies for changes has succeeded for 101 s: OSError: no luck" in text
    watch.succeeded()
    assert ready() == (200, b"ok")


def test_a_watch_whose_source_does_not_answer_is_unhealthy_and_ready() -> None:
    clock = Clock()
    watches = WatchSupervisor(100, Log(io.BytesIO()), clock)
    watch = watches.add("definitions")
    for clock.now in range(0, 500, 5):
        watch.succeeded()
        watch.failed("the API server does not answer")
    assert watches.health() == {"definitions": False}
    assert watches.stale() == []

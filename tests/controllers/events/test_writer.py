"""What is written to the API server, what happens if it refuses or is away, and what is counted."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any, cast

import pytest

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.controllers.events import writer
from policyd.controllers.events.series import MOST_IN_NAMESPACE, NAMESPACE_BURST, REPEAT_SECONDS
from policyd.controllers.events.writer import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    MOST_ATTEMPTS,
    RESULTS,
    EventWriter,
)
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from tests.controllers.events.denied import HandClock, denial, of, of_controller
from tests.controllers.stored_objects import StoredObjects

EVENTS = "api/v1/namespaces/{}/events/"
REFUSED = 'events "policyd.1" is forbidden: User "policyd" cannot patch resource "events"'
MISSING_PERMISSION = ObjectError("403", 403, "Forbidden", {"message": REFUSED})
TERMINATING = ObjectError(
    "403", 403, "Forbidden", {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}
)
AWAY = ObjectError("the API server cannot be reached")
OVERLOADED = ObjectError("busy", 503)
INVALID = ObjectError("not like that", 422, "Invalid")


class Reporting:
    """A writer with everything around it."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.stored = StoredObjects()
        self.log = BytesIO()
        self.counts = dict.fromkeys(RESULTS, 0)
        self.draining = False
        self.writer = EventWriter(
            cast(ObjectClient, self.stored),
            Log(self.log),
            self.counts,
            draining=lambda: self.draining,
            clock=self.clock,
            wall=lambda: 1_800_000_000 + self.clock(),
        )

    @property
    def events(self) -> list[JSONObject]:
        return [*self.stored.objects.values()]

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line)["message"] for line in self.log.getvalue().splitlines()]

    def deny(self, message: str = "no limits", namespace: str = "shop", times: int = 1) -> None:
        for _ in range(times):
            self.writer.note(of(namespace=namespace), denial(message))

    def write(self, seconds: float = 0.0) -> None:
        """Let time pass, and everything be written whose turn it is."""
        self.clock.now += seconds
        asyncio.run(self.writer.write_due())

    def refuse(self, error: ObjectError, namespace: str = "shop") -> None:
        self.stored.refuse = {f"APPLY {EVENTS.format(namespace)}": error}


def test_the_event_of_a_denial() -> None:
    server = Reporting()
    server.writer.note(of_controller(), denial())
    server.write()
    [(path, event)] = server.stored.objects.items()
    assert path == EVENTS.format("shop") + event["metadata"]["name"]
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "namespace": "shop",
        "name": "web-7d9f",
        "uid": "u-rs",
    }
    del event["metadata"], event["involvedObject"]
    assert event.pop("reportingInstance")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "type": "Warning",
        "reason": "PolicyViolation",
        "action": "Deny",
        "message": "CREATE of Pod web-7d9f-* denied by policy limits: no limits",
        "count": 1,
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:00Z",
        "source": {"component": "policyd"},
        "reportingComponent": "policyd",
    }


def test_fields_without_a_value_are_left_out() -> None:
    server = Reporting()
    server.writer.note(of("/v1/nodes", "Node", namespace="", name="n1"), denial())
    server.write()
    [(path, event)] = server.stored.objects.items()
    assert path.startswith(EVENTS.format("default"))
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}


def test_repeated_denials_raise_the_count_of_one_event() -> None:
    server = Reporting()
    server.deny(times=3)
    server.write()
    server.deny(times=4)
    server.write(REPEAT_SECONDS - 1)
    assert [each["count"] for each in server.events] == [3]
    server.write(1)
    [event] = server.events
    assert (event["count"], event["lastTimestamp"]) == (7, "2027-01-15T08:00:00Z")
    server.write(REPEAT_SECONDS)
    assert len(server.stored.sent) == 2, "nothing new is not written"
    assert server.counts == {"written": 7, "dropped": 0, "failed": 0}


def test_a_process_that_drains_writes_at_once() -> None:
    server = Reporting()
    server.deny()
    server.write()
    server.draining = True
    server.deny(times=2)
    server.write()
    assert [each["count"] for each in server.events] == [3]


def test_a_noisy_namespace_waits_and_others_do_not() -> None:
    server = Reporting()
    for number in range(MOST_IN_NAMESPACE + 5):
        server.deny(f"number {number}")
    server.deny(namespace="quiet")
    server.write()
    assert len([path for path in server.stored.objects if "/shop/" in path]) == NAMESPACE_BURST
    assert len([path for path in server.stored.objects if "/quiet/" in path]) == 1
    assert server.counts == {"written": NAMESPACE_BURST + 1, "dropped": 5, "failed": 0}
    for _ in range(200):
        server.write(1)
    assert server.counts == {"written": MOST_IN_NAMESPACE + 1, "dropped": 5, "failed": 0}


@pytest.mark.parametrize("error", [AWAY, OVERLOADED])
def test_while_the_api_server_is_away_denials_wait(error: ObjectError) -> None:
    server = Reporting()
    server.deny(times=2)
    server.refuse(error)
    for _ in range(MOST_ATTEMPTS - 1):
        server.write()
    server.deny()
    assert server.counts == dict.fromkeys(RESULTS, 0)
    assert server.lines == [f"cannot write Events: {error}"]
    server.stored.refuse = {}
    server.write()
    assert [each["count"] for each in server.events] == [3]
    assert server.counts == {"written": 3, "dropped": 0, "failed": 0}
    assert server.lines[1:] == ["Events can be written again"]


def test_attempts_are_bounded_and_so_is_memory() -> None:
    server = Reporting()
    server.refuse(AWAY, "n")  # of every namespace n…
    server.stored.refuse = {"APPLY ": AWAY}
    for number in range(1200):
        server.deny(namespace=f"n{number}")
    assert server.counts == {"written": 0, "dropped": 200, "failed": 0}
    for _ in range(MOST_ATTEMPTS):
        server.write()
    assert server.counts == {"written": 0, "dropped": 200, "failed": 1}
    assert len(server.stored.sent) == MOST_ATTEMPTS, "one attempt shows that it is away"


def test_pauses_grow_up_to_a_bound_and_end_with_the_first_success() -> None:
    server = Reporting()
    pauses = []
    server.stored.refuse = {"APPLY ": AWAY}
    for number in range(8):
        server.deny(str(number))
        server.write()
        pauses.append(server.writer._pause)
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    server.stored.refuse = {}
    server.write()
    assert server.writer._pause == 0


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (
            MISSING_PERMISSION,
            [
                "cannot write Events: a permission is missing: "
                'User "policyd" cannot patch resource "events"',
                "Events can be written again",
            ],
        ),
        (INVALID, ["an Event was refused: not like that"]),
        (TERMINATING, []),
        (ObjectError("namespace", 404, "NotFound"), []),
    ],
)
def test_what_is_refused_is_counted_and_not_sent_again(
    error: ObjectError, lines: list[str]
) -> None:
    server = Reporting()
    server.deny(times=3)
    server.refuse(error)
    server.write()
    assert server.counts == {"written": 0, "dropped": 0, "failed": 3}
    server.stored.refuse = {}
    server.deny(namespace="other")
    server.write()
    assert server.counts == {"written": 1, "dropped": 0, "failed": 3}
    assert server.lines == lines


def test_a_namespace_that_ends_does_not_hold_up_others() -> None:
    server = Reporting()
    server.deny()
    server.deny(namespace="other")
    server.refuse(TERMINATING)
    server.write()
    assert server.counts == {"written": 1, "dropped": 0, "failed": 1}


def test_refusals_are_logged_at_a_bounded_rate() -> None:
    server = Reporting()
    server.refuse(INVALID)
    for number in range(10):
        server.deny(str(number))
    server.write()
    assert len(server.lines) == 1
    server.deny("later")
    server.write(60)
    assert len(server.lines) == 2
    assert json.loads(server.log.getvalue().splitlines()[1])["count"] == 10


def running(server: Reporting, then: Callable[[], Awaitable[None]]) -> None:
    """Run the loop, do something, and end as a server does."""

    async def whole() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(server.writer.run(stop))
        await then()
        stop.set()
        await server.writer.close(task)

    asyncio.run(whole())


async def polled(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.005)


def test_a_denial_wakes_the_writer() -> None:
    server = Reporting()

    async def then() -> None:
        for number in range(3):
            server.deny(str(number))
            await polled(lambda: len(server.events) == len(server.writer._table))

    running(server, then)
    assert server.counts == {"written": 3, "dropped": 0, "failed": 0}


def test_the_end_writes_what_is_left() -> None:
    server = Reporting()

    async def then() -> None:
        server.deny()
        await polled(lambda: server.counts["written"])
        server.deny(times=5)  # not due for a while
        server.deny("another", times=2)

    running(server, then)
    assert server.counts == {"written": 8, "dropped": 0, "failed": 0}


def test_the_end_does_not_wait_for_an_api_server_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer, "LAST_SECONDS", 0.05)
    server = Reporting()
    asked: list[str] = []

    async def hang(path: str, *_: Any, **__: Any) -> JSONObject:
        asked.append(path)
        await asyncio.Event().wait()
        raise AssertionError

    server.stored.apply = hang  # type: ignore[method-assign]

    async def then() -> None:
        server.deny(times=3)
        await polled(lambda: asked)
        server.deny("more")

    running(server, then)
    assert server.counts == {"written": 0, "dropped": 4, "failed": 0}
    assert server.lines == ["4 denials were not reported as Events"]


def test_the_end_does_not_try_again_while_the_api_server_is_away() -> None:
    server = Reporting()
    server.stored.refuse = {"APPLY ": AWAY}

    async def then() -> None:
        server.deny()
        await polled(lambda: server.stored.sent)

    running(server, then)
    assert len(server.stored.sent) == 1
    assert server.counts == {"written": 0, "dropped": 1, "failed": 0}

"""``serve --events`` as a process: denials become Events, at whatever the API server does."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.reviews import body
from tests.cluster.fake import ApiServer, Call, Reply, api_server, refusal
from tests.server.process import PATIENCE, Process, until
from tests.server.serve import DENY, command, write_policy

OWNER = {
    "apiVersion": "example.com/v1",
    "kind": "Shop",
    "name": "corner",
    "uid": "u-9",
    "controller": True,
}
Start = Callable[..., Process]


class EventStore:
    """The Events that the fake API server has, by path."""

    def __init__(self) -> None:
        self.events: dict[str, JSONObject] = {}
        self.away = False
        self.after = 0.0

    def answer(self, call: Call) -> Reply:
        path, _, query = call.path.partition("?")
        if "/events/" not in path:
            return refusal(404, "not found")
        assert call.method == "PATCH"
        assert query == "fieldManager=policyd&force=true"
        if self.away:
            return refusal(503, "etcd is away")
        if not self.after:
            self.events[path] = call.body
        return Reply(call.body, after=self.after)

    @property
    def counts(self) -> dict[str, int]:
        """The counts of the Events, by their messages."""
        found: Counter[str] = Counter()
        for each in [*self.events.values()]:
            found[each["message"]] += each["count"]
        return found


@pytest.fixture
def store() -> EventStore:
    return EventStore()


@pytest.fixture
def api(tmp_path: Path, store: EventStore) -> Iterator[ApiServer]:
    with api_server(tmp_path, store.answer) as server:
        yield server


@pytest.fixture
def start(api: ApiServer, tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(*flags: str, events: str = "--events") -> Process:
            policies = tmp_path / "policies"
            write_policy(policies, "forbidden", DENY.replace("TEXT", "x"))
            given = [each for each in (events, *flags) if each]
            arguments = command(policies, "--kubeconfig", str(api.kubeconfig()), *given)
            server = Process(arguments, tmp_path / "server.log")
            stack.callback(server.kill)
            return server

        yield started


def deny(server: Process, namespace: str = "shop", name: str = "a", **fields: object) -> None:
    made = config_map(name, namespace, data={"forbidden": "yes"})
    made["metadata"]["ownerReferences"] = [OWNER]
    review = body(object=made, namespace=namespace, name=name, **fields)
    assert server.post("/validate", review)[1]["response"]["allowed"] is False


def results(server: Process) -> dict[str, float]:
    return {
        result: server.metric(f'policyd_events_total{{result="{result}"}}')
        for result in ("written", "dropped", "failed")
    }


NOTE = "CREATE of ConfigMap a denied by policy forbidden: no x"


def test_denials_become_events(start: Start, store: EventStore) -> None:
    server = start()
    assert results(server) == {"written": 0, "dropped": 0, "failed": 0}
    for _ in range(3):
        deny(server)
    deny(server, dryRun=True)
    assert server.post("/validate", body())[1]["response"]["allowed"] is True
    assert server.terminate() == 0
    assert store.counts == {NOTE: 3}
    [(path, event)] = store.events.items()
    assert path.startswith("/api/v1/namespaces/shop/events/policyd.")
    about = {key: value for key, value in OWNER.items() if key != "controller"}
    assert event["involvedObject"] == {**about, "namespace": "shop"}
    assert event["reportingInstance"]


def test_it_is_off_by_default(start: Start, store: EventStore) -> None:
    server = start(events="")
    deny(server)
    assert "policyd_events_total" not in server.get("/metrics")[1]
    assert server.terminate() == 0
    assert store.events == {}


def test_workers_report_their_own(start: Start, store: EventStore) -> None:
    server = start("--workers", "2")
    for number in range(20):
        deny(server, name=f"n{number}")
    until(lambda: results(server)["written"] == 20, "all of them in the metrics")
    assert sum(store.counts.values()) == 20


def test_an_api_server_that_is_away_changes_no_answer(start: Start, store: EventStore) -> None:
    server = start()
    store.away = True
    for _ in range(5):
        deny(server)
    until(lambda: server.lines("events"), "a line in the log")
    assert server.get("/readyz")[0] == 200
    store.away = False
    until(lambda: results(server)["written"] == 5, "the Event")
    assert store.counts == {NOTE: 5}
    again = "Events can be written again"
    until(lambda: server.lines("events")[-1]["message"] == again, "the end of it in the log")


def test_an_api_server_that_hangs_does_not_delay_the_end(start: Start, store: EventStore) -> None:
    server = start("--grace", "20s")
    store.after = PATIENCE
    for _ in range(4):
        deny(server)
    assert server.terminate() == 0
    [line] = server.lines("events")
    assert line["message"] == "4 denials were not reported as Events"
    assert server.lines("stopped")

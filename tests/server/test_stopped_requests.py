"""Whatever stops a request leaves its line in the log: who wanted what, which policy, and why."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from policyd.admission.confidential import WITHHELD
from tests.builders.reviews import body
from tests.server.announcing import announce, status
from tests.server.process import Process, fake_server, until
from tests.server.serve import DENY, serving, write_policy

NOWHERE = "[JSONPatch{op: 'replace', path: '/nowhere/at/all', value: 1}]"
UNDECODABLE = "[JSONPatch{op: 'add', path: '/data', value: 1}]"
ITEMS = "[1,2,3,4,5,6,7,8,9,10]"
EXPENSIVE = f"{ITEMS}.all(a, " * 6 + "a > 0" + ")" * 6
POLICIES = {
    "no-text": DENY,
    "two": "validations: [{expression: 'false', message: one}, {expression: 'false', message: b}]",
    "missing": "validations: [{expression: object.nothing == 1}]",
    "careless": "validations: [{expression: object.nothing == 1}]",
    "unfinished": "validations: [{expression: object.metadata.name ==}]",
    "expensive": f'validations: [{{expression: "{EXPENSIVE}"}}]',
    "lonely": "validations: [{expression: authorizer.path('/x').check('get').allowed()}]",
    "labelled": "matchConditions: [{name: a, expression: \"object.labels.x == 'y'\"}]\n  " + DENY,
    "lifted": DENY + "\n  exceptions: [{name: legacy, reason: ticket 4711, names: [settings]}]",
    "careful": "validationActions: [Warn]\n  validations: [{expression: 'false', message: careful}]",
    "nowhere": f'mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: "{NOWHERE}"}}}}]',
    "undecodable": 'mutations: [{patchType: JSONPatch, jsonPatch: {expression: "'
    + UNDECODABLE
    + '"}}]',
}
FORBIDDEN: dict[str, Any] = {"data": {"forbidden": "x"}}
OWNER = {"kind": "ReplicaSet", "name": "web-7d9f", "controller": True}
MADE = {**FORBIDDEN, "metadata": {"generateName": "web-", "ownerReferences": [OWNER]}}
HALF = body(object={"data": {"a": "HALF"}}).replace(b"HALF", b"\\ud83d")
SECRET = {"kind": "Secret", **FORBIDDEN}
# What is sent: the path, the request. What is logged: event, effect, a part of the message, fields.
Stop = tuple[str, bytes, str, str, str, dict[str, Any]]
STOPS: dict[str, Stop] = {
    "a violation": (
        "no-text",
        body(object=FORBIDDEN),
        "denial",
        "denied",
        "no TEXT",
        {"name": "settings", "user": "ann", "namespace": "shop", "uid": "u-1"},
    ),
    "a violation of an object that a controller makes": (
        "no-text",
        body(name="", object=MADE),
        "denial",
        "denied",
        "no TEXT",
        {"generateName": "web-", "owner": "ReplicaSet/web-7d9f", "name": None},
    ),
    "a violation of a dry run": (
        "no-text",
        body(object=FORBIDDEN, dryRun=True),
        "denial",
        "denied",
        "no TEXT",
        {"dryRun": True},
    ),
    "a violation of a Secret": (
        "no-text",
        body(object=SECRET),
        "denial",
        "denied",
        WITHHELD,
        {},
    ),
    "an error": ("missing", body(), "error", "denied", "no such key: nothing", {}),
    "an error that is ignored": ("careless", body(), "error", "admitted", "no such key", {}),
    "an error of a match condition": ("labelled", body(), "error", "denied", "no such key", {}),
    "a policy that does not compile": (
        "unfinished",
        body(),
        "error",
        "denied",
        "failed to configure policy: spec.validations",
        {},
    ),
    "an expression that costs too much": (
        "expensive",
        body(),
        "error",
        "denied",
        "actual cost limit exceeded",
        {},
    ),
    "a lookup that nobody answers": (
        "lonely",
        body(),
        "error",
        "denied",
        "there is no cluster",
        {},
    ),
    "a review that cannot be read": (
        "no-text",
        HALF,
        "error",
        "denied",
        "the review cannot be evaluated: a string holds",
        {},
    ),
    "a deadline": (
        "no-text?timeout=1ms",
        body(object=FORBIDDEN),
        "error",
        "denied",
        "deadline exceeded",
        {},
    ),
    "a mutation that does not apply": (
        "nowhere",
        body(),
        "error",
        "denied",
        "replace operation does not apply",
        {},
    ),
    "a mutation that no object can have": (
        "undecodable",
        body(),
        "error",
        "denied",
        "json: cannot unmarshal number",
        {},
    ),
    "an exception": (
        "lifted",
        body(object=FORBIDDEN),
        "exemption",
        "admitted",
        "ticket 4711",
        {"exception": "legacy"},
    ),
    "a warning": ("careful", body(), "warning", "admitted", "careful", {}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("server")
    for name, spec in POLICIES.items():
        write_policy(folder / "policies", name, spec, "Ignore" if name == "careless" else "Fail")
    with serving(folder, folder / "policies") as process:
        yield process


def logged(server: Process, act: Callable[[], object]) -> list[dict[str, Any]]:
    """The lines of requests that ``act`` brings; the one of a last request ends them."""
    before = len(server.lines())
    act()
    server.post("/validate/policy/no-text", body(uid="last", object=FORBIDDEN))
    until(lambda: server.lines()[before:][-1:] and server.lines()[-1].get("uid") == "last", "it")
    return server.lines()[before:-1]


@pytest.mark.parametrize("cause", STOPS)
def test_whatever_stops_a_request_is_one_line(server: Process, cause: str) -> None:
    path, sent, event, effect, message, fields = STOPS[cause]
    name = path.partition("?")[0]
    webhook = "mutate" if "mutations" in POLICIES[name] else "validate"
    answer: list[Any] = []
    before = denials(server, name)

    def act() -> None:
        answer.extend(server.post(f"/{webhook}/policy/{path}", sent))

    (line,) = logged(server, act)
    assert answer[0] == 200
    assert answer[1]["response"]["allowed"] is (effect == "admitted")
    assert (line["event"], line["effect"], line["policy"]) == (event, effect, name)
    assert message in line["message"]
    assert {key: line.get(key) for key in fields} == fields
    assert {"uid", "operation", "resource", "generation", "time"} <= line.keys()
    # The recent denials have the same ones.
    added = denials(server, name)[: len(denials(server, name)) - len(before)]
    same = [row["uid"] for row in added if row["uid"] == line["uid"]]
    assert len(same) == (effect == "denied")


def denials(server: Process, policy: str) -> list[Any]:
    """The recent denials by a policy, the latest first."""
    found: list[Any] = json.loads(server.get(f"/denials?policy={policy}")[1])["denials"]
    return found


def test_each_violation_is_a_line_of_the_same_request(server: Process) -> None:
    lines = logged(server, lambda: server.post("/validate/policy/two", body(uid="both")))
    assert [(line["uid"], line["message"]) for line in lines] == [("both", "one"), ("both", "b")]


@pytest.mark.usefixtures("http_server")
def test_a_request_without_room_has_a_line_whatever_else_is_rejected(tmp_path: Path) -> None:
    with fake_server(tmp_path, max_in_flight="4") as server, ExitStack() as stack:
        for _ in range(30):
            assert server.post("/nothing", body())[0] == 404
        stalled = [stack.enter_context(announce(server, 100)) for _ in range(3)]
        until(lambda: server.metric("policyd_in_flight_requests") == 3, "the requests")
        assert server.post("/validate", body())[0] == 200
        assert status(stalled[0]) == b"HTTP/1.1 503"
        lines = until(lambda: server.lines("rejected")[1:] and server.lines("rejected"), "lines")
        assert [(line["status"], line.get("suppressed"), line["message"]) for line in lines] == [
            (404, None, "nothing is served at /nothing on this port"),
            (503, 29, "the body was incomplete when other requests needed its memory"),
        ]
        assert all(line["peer"] == "127.0.0.1" for line in lines)


def test_connections_that_are_cut_off_have_one_line_for_each_reason(tmp_path: Path) -> None:
    settings = {"max_connections": "4", "head_timeout": "200ms"}
    with fake_server(tmp_path, **settings) as server, ExitStack() as stack:
        for _ in range(3):
            slow = stack.enter_context(server.secure_socket())
            slow.sendall(b"POST /validate HTTP/1.1\r\n")
            assert slow.recv(1) == b""
        for _ in range(3):
            stack.enter_context(announce(server, 100))
        until(lambda: server.metric("policyd_in_flight_requests") == 3, "the requests")
        for _ in range(3):
            with pytest.raises(OSError):
                server.post("/validate", body())
        lines = until(lambda: server.lines("closed")[1:] and server.lines("closed"), "lines")
        assert [(line["reason"], line["peer"], line["count"]) for line in lines] == [
            ("head", "127.0.0.1", 1),
            ("full", "127.0.0.1", 1),
        ]

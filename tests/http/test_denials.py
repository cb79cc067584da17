"""The recent denials on the admin port: queries, who may read them, and several processes."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.config import Settings
from policyd.errors import ReviewError
from policyd.http.denials import MOST, NONE, DenialQuery, RecentDenials, denial_query, merged
from policyd.http.status import ProcessView
from policyd.server.policies.store import Store
from tests.builders.reviews import body
from tests.http.asking import admin_app, ask
from tests.server.fakes import load
from tests.server.process import Process, until, write_sources
from tests.server.serve import DENY, serving, write_policy

FORBIDDEN: dict[str, Any] = {"data": {"forbidden": "x"}}


def row(sequence: int, namespace: str = "shop", policy: str = "p") -> dict[str, Any]:
    return {"sequence": sequence, "namespace": namespace, "policy": policy}


QUERIES = [
    ("", DenialQuery()),
    ("namespace=shop&policy=no-privileged", DenialQuery("shop", "no-privileged")),
    ("since=1795456602585893&limit=1", DenialQuery(since=1795456602585893, limit=1)),
    ("since=0&limit=200", DenialQuery(since=0, limit=200)),
    ("since=2026-11-23T17:56:42Z", DenialQuery(since=1795456602000000)),
    ("since=2026-11-23T17:56:42.5Z", DenialQuery(since=1795456602500000)),
    ("since=2026-11-23T18:56:42%2B01:00", DenialQuery(since=1795456602000000)),
]


@pytest.mark.parametrize(("query", "want"), QUERIES)
def test_a_query(query: str, want: DenialQuery) -> None:
    assert denial_query(query) == want


WRONG = [
    ("name=x", "expected namespace, policy, since or limit, got 'name'"),
    ("namespace", "namespace: expected a value, got none"),
    ("policy=", "policy: expected a value, got none"),
    ("limit=1&limit=2", "limit: expected one value, got a second one: '2'"),
    ("limit=0", "limit: expected a number from 1 to 200, got '0'"),
    ("limit=201", "limit: expected a number from 1 to 200, got '201'"),
    ("limit=-1", "limit: expected a number from 1 to 200, got '-1'"),
    ("limit=%C2%B2", "limit: expected a number from 1 to 200, got '²'"),
    ("since=yesterday", "since: expected a sequence or a time like 2026-11-22T09:07:49Z, got 'yes"),
    ("since=2026-11-22T09:07:49", "since: expected a sequence or a time"),  # of which zone?
    ("since=2026-11-22", "since: expected a sequence or a time"),
    ("since=" + "9" * 5000, "since: expected a sequence or a time"),
    ("x" * 5000, "got '" + "x" * 80 + "'"),
]


@pytest.mark.parametrize(("query", "message"), WRONG, ids=[each[:30] for each, _ in WRONG])
def test_a_wrong_query_is_an_error_with_what_is_expected(query: str, message: str) -> None:
    with pytest.raises(ReviewError) as caught:
        denial_query(query)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_page_has_the_last_ones_that_are_asked_for() -> None:
    rows = [row(1), row(2, "other"), row(3, policy="q"), row(4), row(5)]
    recent = RecentDenials(rows, 9, 0)

    def page(query: str) -> list[int]:
        shown = denial_query(query).page(recent)
        assert (shown["next"], shown["completeSince"]) == (9, 0)
        return [each["sequence"] for each in shown["denials"]]

    assert page("") == [1, 2, 3, 4, 5]
    assert page("namespace=shop&policy=p") == [1, 4, 5]
    assert page("namespace=shop&limit=2") == [4, 5]
    assert page("since=3") == [4, 5]
    assert page("policy=nobody") == []


# What happens: a worker notes a denial (its number), or somebody asks for all (None).
STEPS = st.lists(st.one_of(st.integers(0, 2), st.none()), max_size=60)


@given(STEPS)
def test_who_follows_several_processes_misses_nothing(steps: list[int | None]) -> None:
    clock = 0
    noted: dict[int, list[dict[str, Any]]] = {0: [], 1: [], 2: []}
    seen: set[int] = set()
    cursor = 0

    def ask_all() -> None:
        nonlocal cursor, clock
        parts = []
        for worker, rows in noted.items():  # one after the other, while the others go on
            clock += 1
            parts.append(RecentDenials(tuple(rows), clock, 0))
            clock += 1
            noted[(worker + 1) % 3].append(row(clock))
        found = merged(parts)
        seen.update(each["sequence"] for each in found.rows if each["sequence"] > cursor)
        cursor = found.next

    for step in steps:
        if step is None:
            ask_all()
        else:
            clock += 1
            noted[step].append(row(clock))
    known = {each["sequence"] for rows in noted.values() for each in rows}
    ask_all()
    assert known <= seen


def test_of_many_the_last_are_shown_and_the_rest_is_known_to_be_missing() -> None:
    one = RecentDenials([row(each) for each in range(2, 302, 2)], 400, 0)
    other = RecentDenials([row(each) for each in range(1, 301, 2)], 401, 7)
    found = merged([one, other])
    assert [each["sequence"] for each in found.rows] == [*range(101, 301)]
    assert len(found.rows) == MOST
    assert (found.next, found.complete_since) == (400, 100)
    assert merged([one, NONE]).next == 0  # a worker that has not answered yet
    assert merged([]) == RecentDenials([], 0, 0)


def test_strangers_see_no_denials(tmp_path: Path) -> None:
    store = Store([write_sources(tmp_path / "sources", a="allow a")], load)
    store.start()
    token = tmp_path / "token"
    token.write_text("secret")
    recent = RecentDenials([row(1, policy="a"), row(2, policy="b\ud800")], 2, 0)
    for file in (None, token):
        app = admin_app(store, Settings(admin_token_file=file), process=ProcessView(lambda: recent))
        stranger = ask(app, "/denials")
        assert stranger[0] == (401 if file else 403)
        assert "denials" not in stranger[2]
        given = {"authorization": "Bearer secret"} if file else {}
        client = "10.1.2.3" if file else "127.0.0.1"
        whole = ask(app, "/denials", client, **given)[2]["denials"]
        assert [each["policy"] for each in whole] == ["a", "b\N{REPLACEMENT CHARACTER}"]
        assert ask(app, "/policies/a", client, **given)[2]["denials"] == [row(1, policy="a")]
        if file is None:
            assert "denials" not in ask(app, "/policies/a")[2]


@pytest.fixture(params=[(), ("--workers", "2")], ids=["one process", "two workers"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Process]:
    folder = write_policy(tmp_path / "policies", "no-text", DENY).parent
    write_policy(folder, "broken", 'validations: [{expression: "object.nothing.at.all"}]')
    with serving(tmp_path, folder, *request.param) as process:
        if request.param:
            until(lambda: process.lines("workers"), "all workers")
        yield process


@pytest.mark.usefixtures("http_server")
def test_the_denials_of_all_processes_are_shown_in_their_order(server: Process) -> None:
    for number in range(12):
        changes = {"uid": str(number), "namespace": f"team-{number % 3}"}
        server.post("/validate/policy/no-text", body(object=FORBIDDEN, **changes))
    server.post("/validate/policy/broken", body(uid="12", namespace="team-0"))
    server.post("/validate/policy/no-text", body(uid="13"))

    def shown(path: str) -> list[str]:
        status, text = server.get(path)
        assert status == 200
        return [each["uid"] for each in json.loads(text)["denials"]]

    assert shown("/denials") == [str(each) for each in range(13)]
    assert shown("/denials?namespace=team-1") == ["1", "4", "7", "10"]
    assert shown("/denials?policy=broken") == ["12"]
    assert shown("/denials?limit=2") == ["11", "12"]
    assert shown("/policies/no-text") == [str(each) for each in range(12)]
    assert shown("/policies/no-text?namespace=team-1&limit=3") == ["4", "7", "10"]
    for query in ("namespace=", "policy=broken", "x=y"):
        assert server.get(f"/policies/no-text?{query}")[0] == 400
    cursor = json.loads(server.get("/denials")[1])["next"]
    assert shown(f"/denials?since={cursor}") == []
    server.post("/validate/policy/no-text", body(uid="14", object=FORBIDDEN))
    assert shown(f"/denials?since={cursor}") == ["14"]
    status, text = server.get("/denials?since=now")
    assert (status, json.loads(text)["error"][:17]) == (400, "since: expected a")
    # The processes write their lines in any order.
    first = next(each for each in server.lines("denial") if each["uid"] == "0")
    line = {key: value for key, value in first.items() if key != "level"}
    page = json.loads(server.get("/denials?limit=200")[1])["denials"][0]
    assert page.pop("sequence")
    noted, logged = (datetime.fromisoformat(each.pop("time")) for each in (page, line))
    assert abs(logged - noted) < timedelta(minutes=1)
    assert page == line

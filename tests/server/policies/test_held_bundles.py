"""Bundles of sources: an error in one keeps only its own changes out."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from policyd.errors import Problem
from policyd.http.policies_in_use import Reload
from policyd.json_types import JSONObject
from policyd.server.policies.held_bundles import added
from tests.builders.config_maps import BROKEN, forbidding
from tests.builders.objects import config_map
from tests.builders.policies import demand, policy, suite
from tests.server.policies.maps import Keeper, Maps, documents, loaded, shown, started, store_of


def test_an_edit_is_taken() -> None:
    maps, store = started(a=forbidding("one"), b=forbidding("two"))
    assert shown(store) == {"configmap/a": ("1", ""), "configmap/b": ("2", "")}
    maps.put("a", p=forbidding("three"))
    assert store.reload().succeeded
    assert loaded(store) == ["three", "two"]
    assert shown(store)["configmap/a"] == ("3", "")


def test_a_broken_edit_does_not_keep_out_that_of_another_team() -> None:
    maps, store = started(a=forbidding("one"), b=forbidding("two"))
    first = store.current
    maps.put("b", p=BROKEN)
    attempt = store.reload()
    assert not attempt.succeeded and attempt.held == ("configmap/b",)
    assert store.current is first
    maps.put("a", p=forbidding("three"))
    attempt = store.reload()
    assert not attempt.succeeded and attempt.held == ("configmap/b",)
    assert [str(each) for each in attempt.errors if "configmap/b/p.yaml" in each]
    assert attempt.generation == store.current.generation != first.generation
    assert loaded(store) == ["three", "two"]
    assert shown(store) == {"configmap/a": ("4", ""), "configmap/b": ("2", "3")}
    maps.put("b", p=forbidding("four"))
    attempt = store.reload()
    assert attempt.succeeded and attempt.held == ()
    assert loaded(store) == ["four", "three"]


@pytest.mark.parametrize("broken", [{"p": "kind: ["}, {"p": ""}, {"p": BROKEN}])
def test_any_error_is_held_back(broken: dict[str, JSONObject | str]) -> None:
    maps, store = started(a=forbidding("one"), b=forbidding("two"))
    maps.put("b", **broken)
    maps.put("a", p=forbidding("three"))
    assert store.reload().held == ("configmap/b",)
    assert loaded(store) == ["three", "two"]


def test_a_failing_suite_is_held_back() -> None:
    maps, store = started(a=forbidding("one"), b=forbidding("two"))
    bad = {"name": "c", "request": {"object": config_map()}, "expect": {"allowed": False}}
    maps.put("b", p=forbidding("four"), suite=suite(cases=[bad]))
    maps.put("a", p=forbidding("three"))
    assert store.reload().held == ("configmap/b",)
    assert loaded(store) == ["three", "two"]


def test_a_policy_moves_from_one_config_map_to_another_at_once() -> None:
    maps, store = started(a=forbidding("one"), b=forbidding("two"))
    maps.put("a", p=forbidding("three"))
    maps.put("b", p=forbidding("two"), q=forbidding("one"))
    assert store.reload().succeeded
    assert loaded(store) == ["one", "three", "two"]


def test_a_deleted_config_map_takes_its_policies_along() -> None:
    maps, store = started(a=forbidding("one"), b=forbidding("two"))
    del maps.current["b"]
    assert store.reload().succeeded
    assert loaded(store) == ["one"]
    assert shown(store) == {"configmap/a": ("1", "")}


def test_the_last_config_map_is_not_lost_by_accident() -> None:
    maps, store = started(a=forbidding("one"))
    maps.current.clear()
    (error,) = store.reload().errors
    assert "the sources no longer hold policies; keeping the 1 in use" in error
    assert loaded(store) == ["one"]
    assert shown(store) == {"configmap/a": ("1", "deleted")}
    maps.put("b", p=forbidding("two"))
    assert store.reload().succeeded
    assert loaded(store) == ["two"]


def test_at_start_there_is_nothing_to_hold_back_but_others_can_edit() -> None:
    maps, store = started(a=forbidding("one"), b=BROKEN)
    assert store.last is not None and not store.last.succeeded
    assert [each.state for each in store.current.policies] == ["quarantined", "active"]
    maps.put("a", p=json_lines(forbidding("three")))
    assert store.reload().held == ()
    assert [each.name for each in store.current.policies] == ["broken", "three"]
    maps.put("c", p="kind: [")
    maps.put("d", p=forbidding("four"))
    assert store.reload().held == ("configmap/c",)
    assert loaded(store) == ["broken", "four", "three"]
    maps.put("b", p=forbidding("two"))
    del maps.current["c"]
    assert store.reload().succeeded
    assert loaded(store) == ["four", "three", "two"]


def json_lines(document: JSONObject) -> str:
    """The same document after some lines, so that every place in its file is another one."""
    return "#\n#\n" + json.dumps(document)


def test_the_mounted_files_are_one_more_team(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(json_lines(forbidding("filed")))
    maps = Maps()
    maps.put("a", p=forbidding("one"))
    store = store_of(maps, tmp_path)
    store.start()
    assert loaded(store) == ["filed", "one"]
    file.write_text("kind: [")
    maps.put("a", p=forbidding("two"))
    attempt = store.reload()
    assert not attempt.succeeded and loaded(store) == ["filed", "two"]
    assert attempt.held == ("-p",)
    file.write_text(json_lines(forbidding("again")))
    assert store.reload().succeeded and loaded(store) == ["again", "two"]


EDITS: list[tuple[str, dict[str, JSONObject | str]]] = [
    ("a", {"p": forbidding("one")}),
    ("b", {"p": forbidding("one")}),
    ("c", {"p": BROKEN}),
    ("d", {"p": forbidding("five")}),
    ("a", {"p": forbidding("two"), "q": forbidding("five")}),
    ("c", {"p": forbidding("three")}),
    ("e", {"p": forbidding("one")}),
    ("b", {"p": "kind: ["}),
    ("d", {"p": forbidding("six")}),
]


def test_replicas_agree_however_many_edits_each_of_them_sees_at_once() -> None:
    """The API server orders the edits; what differs is how many come before a reload."""
    results = set()
    chance = Random(7)
    for often in (0.0, 1.0, *[0.3] * 6):
        maps, store = started(z=forbidding("z"))
        seen: set[str] = set()
        for name, keys in EDITS:
            if name in seen or chance.random() < often:
                store.reload()
                seen.clear()
            maps.put(name, **keys)
            seen.add(name)
        store.reload()
        results.add((store.current.generation, *sorted(shown(store).items())))
    assert len(results) == 1


def test_the_generation_does_not_depend_on_the_order_of_events() -> None:
    generations = set()
    for order in permutations("abc"):
        maps = Maps()
        for name in order:
            maps.put(name, p=forbidding(f"p-{name}"))
        store = store_of(maps)
        store.start()
        generations.add(store.current.generation)
    assert len(generations) == 1


GOOD = {"object": config_map(data={"a": "1"})}
CASE: JSONObject = {"name": "c", "request": GOOD, "expect": {"allowed": True}}


def test_a_new_process_goes_on_with_what_the_former_one_held_back() -> None:
    maps, keeper = Maps(), Keeper()
    maps.put("a", p=forbidding("one"))
    maps.put("b", p=forbidding("two"), suite=suite(policies=["p.yaml"], cases=[CASE]))
    former = keeper.store(maps)
    former.start()
    maps.put("b", p=BROKEN)
    former.reload()
    maps.put("a", p=forbidding("three"))
    former.reload()
    maps.put("a", p=forbidding("five"))
    new = keeper.store(maps)
    new.start()
    assert loaded(new) == ["five", "two"] and not new.serves_last_good
    former.reload()
    assert new.current.generation == former.current.generation
    assert shown(new) == shown(former) == {"configmap/a": ("5", ""), "configmap/b": ("2", "3")}


def test_sources_that_cannot_be_read_at_start_are_waited_for() -> None:
    maps, told = Maps(), list[Reload]()
    store = store_of(maps, on_reload=told.append)
    store.expect("not read yet")
    assert store.start_without_sources("no answer") is False
    assert store.unready == "not read yet" and told == []
    assert store.current.policies == () and not store.loaded
    maps.put("a", p=forbidding("one"))
    store.start()
    assert store.unready == "" and loaded(store) == ["one"] and told[0].succeeded


def test_the_last_good_set_is_served_while_sources_cannot_be_read() -> None:
    maps, keeper = Maps(), Keeper()
    maps.put("a", p=forbidding("one"))
    keeper.store(maps).start()
    store = keeper.store(Maps())
    store.expect("not read yet")
    assert store.start_without_sources("not read yet") is True
    assert store.unready == "" and store.serves_last_good and loaded(store) == ["one"]
    assert store.last is not None and store.last.errors == ("not read yet",)


ERROR = Problem("undeclared reference", "a.yaml", 3, 5, "spec.x", document="Policy p1")


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({"line": 30, "column": 1, "excerpt": "x", "hint": "y", "summary": "z"}, True),
        ({"file": "b.yaml"}, False),
        ({"document": "Policy p2"}, False),
        ({"path": "spec.y"}, False),
        ({"message": "undeclared reference to 'x'"}, False),
    ],
)
def test_an_error_is_known_by_its_document_field_and_message(
    changes: dict[str, Any], known: bool
) -> None:
    other = replace(ERROR, **changes)
    assert added([other], [ERROR]) == ([] if known else [other])
    assert added([ERROR, other], [ERROR, ERROR]) == ([] if known else [other])
    assert added([other, other, other], [ERROR, other]) == [other] * (1 if known else 2)


def test_the_line_of_another_document_in_a_message_does_not_count() -> None:
    first, later, elsewhere = (
        replace(ERROR, message=f"p1 is defined twice: first in {place}")
        for place in ("a.yaml:3", "a.yaml:17", "a2.yaml:3")
    )
    assert added([later], [first]) == []
    assert added([elsewhere], [first]) == [elsewhere]


CYCLE = "a: &x [*x]"
BREAKAGES: dict[
    str, tuple[Callable[[str], JSONObject | str], Callable[[str], JSONObject | str]]
] = {
    "an expression": (forbidding, lambda name: policy(name, validations=[demand("nope", "no")])),
    "a field": (forbidding, lambda name: {**forbidding(name), "specs": {}}),
    "a text that is no YAML": (forbidding, lambda name: f"# {name}\n{CYCLE}"),
    "a document without a kind": (forbidding, lambda name: {"metadata": {"name": name}}),
    "a suite": (
        lambda name: suite(name=name, cases=[CASE]),
        lambda name: suite(name=name, cases=[{**CASE, "expect": {"allowed": False}}]),
    ),
}


@pytest.mark.parametrize("about", BREAKAGES)
@pytest.mark.parametrize("names", [("one", "two"), ("p1", "p2")])
def test_breakage_that_moves_to_another_document_of_a_file_is_held_back(
    about: str, names: tuple[str, str]
) -> None:
    """What is accepted at start, where there is no former set, is that document's breakage."""
    good, bad = BREAKAGES[about]
    one, two = names
    kept = forbidding("kept")
    maps, store = started(a=documents(kept, bad(one), good(two)), b=forbidding("other"))
    assert store.last is not None and not store.last.succeeded
    maps.put("a", p=documents(kept, "# later\n\n", bad(one), good(two)), q=forbidding("more"))
    assert store.reload().held == ()  # the same error at another line
    before = store.current
    maps.put("a", p=documents(kept, good(one), bad(two)))
    assert store.reload().held == ("configmap/a",) and store.current is before
    maps.put("a", p=documents(kept, good(one), good(two)))
    assert store.reload().succeeded

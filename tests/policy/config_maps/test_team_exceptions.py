"""ConfigMaps of teams with exceptions: each is checked alone, and held back alone."""

import gzip
import json
import sys
from dataclasses import replace

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.config_maps import team_exceptions
from policyd.policy.config_maps.team_exceptions import (
    LIMITS,
    MAX_ERRORS,
    MAX_STORED,
    HeldBack,
    TeamExceptions,
    bounded,
)
from tests.builders.config_maps import policy_map
from tests.builders.policies import policy, policy_exception
from tests.policy.source.hostile import EXCEPTION, FORMS

GOOD = policy_exception("good", "p")


class Teams:
    """What is taken of ConfigMaps, and reported."""

    def __init__(self) -> None:
        self.held: list[HeldBack] = []
        self.maps: dict[tuple[str, str], JSONObject] = {}
        self._taken = TeamExceptions(self.held.append)
        self._version = 0

    def put(self, namespace: str, name: str, **keys: JSONObject | str) -> None:
        self._version += 1
        made = policy_map(name, None, version=self._version, **keys)
        made["metadata"]["namespace"] = namespace
        self.maps[namespace, name] = made

    def files(self) -> list[str]:
        bundle = self._taken.take(self.maps.values())
        assert all(each.confined == each.name.split("/")[1] for each in bundle.files)
        return [each.name for each in bundle.files]

    def states(self) -> list[tuple[str, str, str]]:
        return [(each.name, each.version, each.held) for each in self._taken.states]


def test_a_broken_edit_is_held_back_alone() -> None:
    teams = Teams()
    teams.put("a", "x", e=GOOD)
    teams.put("b", "x", e=GOOD)
    assert teams.files() == ["configmap/a/x/e.yaml", "configmap/b/x/e.yaml"]
    teams.put("a", "x", e=policy_exception("bad", "p", reason=""), f=policy("p"))
    teams.put("b", "x", f=GOOD)
    assert teams.files() == ["configmap/a/x/e.yaml", "configmap/b/x/f.yaml"]
    assert teams.states() == [("configmap/a/x", "1", "3"), ("configmap/b/x", "4", "")]
    assert teams.files() and len(teams.held) == 1
    (held,) = teams.held
    assert held[:3] == ("a", "x", "3")
    assert [each.partition(": ")[0] for each in held.errors] == [
        "configmap/a/x/e.yaml:1:139",
        "configmap/a/x/f.yaml:1:43",
    ]
    teams.put("a", "x", e=GOOD)
    assert teams.files()[0] == "configmap/a/x/e.yaml" and teams.states()[0][2] == ""


def test_a_new_map_with_errors_and_one_that_is_gone_except_nothing() -> None:
    teams = Teams()
    teams.put("a", "x", e="kind: [")
    assert teams.files() == [] and teams.states() == [("configmap/a/x", "", "1")]
    teams.put("a", "x", e=GOOD)
    assert teams.files()
    teams.maps.clear()
    assert teams.files() == [] and teams.states() == []


def test_the_log_shows_no_lines_of_config_maps() -> None:
    teams = Teams()
    teams.put("a", "x", e="password: [secret\n", f=json.dumps({**GOOD, "key": "secret"}))
    teams.files()
    assert len(teams.held[0].errors) == 2 and "secret" not in "".join(teams.held[0].errors)
    assert all("\n" not in each for each in teams.held[0].errors)


def test_a_namespace_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_exceptions, "LIMITS", replace(LIMITS, documents=3))
    teams = Teams()
    two = "\n---\n".join(json.dumps(policy_exception(name, "p")) for name in "ab")
    for name in ("x", "y"):
        teams.put("a", name, e=two)
    teams.put("b", "x", e=two)
    assert teams.files() == ["configmap/a/x/e.yaml", "configmap/b/x/e.yaml"]
    assert teams.held[0].errors == ("namespace a has more than 3 exceptions",)
    assert LIMITS.documents == 100


def test_nodes_and_bytes_of_a_namespace_are_bounded() -> None:
    """Each one is compared for every request of the namespace, while others wait."""
    teams = Teams()
    names: JSON = [f"legacy-{number}-*" for number in range(LIMITS.nodes // 2)]
    for name in ("x", "y"):
        made = policy_exception(name, "p", resources=[{"names": names}])
        for namespace in ("a", "b") if name == "x" else ("a",):
            teams.put(namespace, name, e=made)
    for name in ("x", "y", "z"):
        teams.put("c", name, e=policy_exception(name, "p", reason="x" * (LIMITS.size * 2 // 5)))
    assert teams.files() == [f"configmap/{each}/e.yaml" for each in ("a/x", "b/x", "c/x", "c/y")]
    assert [each.errors for each in teams.held] == [
        ("namespace a has more than 5,000 nodes (names, values, lists and objects) in exceptions",),
        ("namespace c has more than 256 KiB of exceptions",),
    ]


def test_a_config_map_is_bounded_after_decompression() -> None:
    teams = Teams()
    bomb = gzip.compress(b"#" * (LIMITS.size + 1))
    made = policy_map("x", {"e.yaml.gz": bomb}, version=1)
    made["metadata"]["namespace"] = "a"
    teams.maps["a", "x"] = made
    big = policy_map("y", {f"{each}.yaml": "#" * 100_000 for each in "abc"}, version=2)
    big["metadata"]["namespace"] = "a"
    teams.maps["a", "y"] = big
    assert teams.files() == []
    assert "larger than 0 MiB" not in str(teams.held)
    assert [each.errors[0].partition(": ")[2] for each in teams.held] == [
        "cannot be read: larger than 256 KiB",
        "more than 256 KiB of exceptions in one ConfigMap",
    ]


def test_only_the_first_errors_are_kept() -> None:
    teams = Teams()
    many = "\n---\n".join(json.dumps(policy(f"p{number}")) for number in range(30))
    teams.put("a", "x", e=many)
    teams.files()
    assert len(teams.held[0].errors) == 11 and teams.held[0].errors[-1] == "… and 20 more"


@pytest.mark.parametrize("name", FORMS)
def test_a_hostile_map_costs_no_more_than_the_limits(name: str) -> None:
    """It is held back alone, and is read once, however often the list is taken."""
    teams, calls = Teams(), 0
    text = FORMS[name](LIMITS.size - 60_000)
    assert 20_000 < len(text) <= LIMITS.size
    teams.put("a", "x", e=text)
    teams.put("b", "x", e=GOOD)

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        files = teams.files()
    finally:
        sys.setprofile(None)
    empty = name == "separators"
    assert files == ["configmap/a/x/e.yaml"] * empty + ["configmap/b/x/e.yaml"]
    assert [each[:2] for each in teams.held] == [("a", "x")] * (not empty)
    assert all(0 < len(each.errors) <= MAX_ERRORS + 1 for each in teams.held)
    assert calls < 100 * LIMITS.nodes + 8 * LIMITS.size
    calls = 0
    sys.setprofile(note)
    try:
        teams.files()
    finally:
        sys.setprofile(None)
    assert calls < 1_000 and len(teams.held) == (not empty)


def test_copies_by_aliases_are_refused_with_the_remedy() -> None:
    teams = Teams()
    text = f"{EXCEPTION}  a0: &a0 [1]\n  a1: [*a0, *a0]\n"
    teams.put("a", "x", e=text, f=f"{EXCEPTION}  x: [{'1, ' * LIMITS.nodes}]\n")
    assert teams.files() == []
    assert teams.held[0].errors == (
        "configmap/a/x/e.yaml:7:7: an alias (*name) repeats this value: write it out, aliases are"
        " not allowed here",
        "configmap/a/x/f.yaml:7:6: the sources are too large together: more than 5,000 nodes"
        " (names, values, lists and objects); remove some; an alias counts as a copy",
    )


def test_a_map_that_is_too_large_is_not_kept_in_memory() -> None:
    for size, kept in ((MAX_STORED, True), (MAX_STORED + 1, False)):
        made = policy_map("x", {"e.yaml": "#" * size})
        made["metadata"]["namespace"] = "a"
        found = bounded(made)
        assert ("data" in found) is kept
        held: list[HeldBack] = []
        assert not TeamExceptions(held.append).take([found]).files
        assert "256 KiB" in held[0].errors[0]

"""Policies of one name in several bundles: every process uses the same one, and nothing else is kept out."""

from random import Random

import pytest

from policyd.server.policies.store import Store
from tests.builders.config_maps import forbidding
from tests.builders.policies import vap, vap_binding
from tests.server.policies.maps import Keeper, Maps, loaded, started, store_of


def sources(store: Store) -> dict[str, str]:
    return {each.name: each.source for each in store.current.policies}


def test_a_name_that_another_team_has_keeps_out_nothing_else() -> None:
    maps, store = started(b=forbidding("same"))
    maps.days = {"a": 21}
    maps.put("a", p=forbidding("same"), q=forbidding("other"))
    maps.put("c", p=forbidding("more"))
    attempt = store.reload()
    assert attempt.held == () and not attempt.succeeded
    assert "same is defined twice" in attempt.errors[0]
    assert loaded(store) == ["more", "other", "same"]
    assert sources(store)["same"] == "configmap/b/p.yaml"


@pytest.mark.parametrize("last_good", [False, True])
def test_a_running_process_gives_names_to_the_same_policies_as_one_that_starts(
    last_good: bool,
) -> None:
    """Whatever edits came in which order, some of ConfigMaps of the same second."""
    chance = Random(11)
    for _ in range(10):
        maps, keeper = Maps(), Keeper()
        maps.days = {name: chance.choice([20, 21, 22]) for name in "abcd"}
        maps.put("z", z=forbidding("z"))
        running = keeper.store(maps) if last_good else store_of(maps)
        running.start()
        for _ in range(6):
            name = chance.choice("abcd")
            first, *others = chance.sample(["one", "two", "three"], chance.choice([1, 2]))
            bound = {"p": vap(first), "b": vap_binding(f"of-{name}", policyName=first)}
            maps.put(name, **bound, **{each: forbidding(each) for each in others})
            if chance.random() < 0.6:
                running.reload()
        running.reload()
        starting = keeper.store(maps) if last_good else store_of(maps)
        starting.start()
        assert sources(running) == sources(starting)
        assert running.current.generation == starting.current.generation
        assert all(each.state == "active" for each in running.current.policies)


@pytest.mark.parametrize("edited", ["a", "b", "c"])
def test_a_process_that_starts_uses_the_older_policy_of_a_name_and_keeps_it(edited: str) -> None:
    """So does one that runs; denying what the later one matches would help nobody."""
    given = {"b": "old", "a": "new", "c": "other"}
    maps = Maps()
    maps.days = {"b": 1, "a": 2, "c": 3}
    for name, key in given.items():
        same = forbidding("same" if name != "c" else "more", key)
        maps.put(name, p=same, q=forbidding(f"of-{name}"))
        if name == "b":
            running = store_of(maps)
            running.start()
    running.reload()
    starting = store_of(maps)
    starting.start()
    assert loaded(starting) == ["more", "of-a", "of-b", "of-c", "same"]
    kept = forbidding("same" if edited != "c" else "more", given[edited])
    maps.put(edited, p=kept, q=forbidding(f"of-{edited}"), r=forbidding("added"))
    for store in (running, starting):
        store.reload()
        assert store.last is not None and not store.last.succeeded
        assert "Policy same is defined twice" in store.last.errors[0]
        found = [each for each in store.current.policies if each.name == "same"]
        assert [(each.state, each.source) for each in found] == [("active", "configmap/b/p.yaml")]
    assert "added" in loaded(starting)

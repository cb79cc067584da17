"""CustomResourceDefinitions over real connections: what is asked, what counts as a change."""

import json
from collections.abc import Iterator

import pytest

from policyd.cluster.definitions import PATH, ClusterDefinitions, version_of
from policyd.cluster.kubeconfig import configuration
from policyd.json_types import JSONObject
from policyd.policy.kinds.wanted_definitions import EVERY, WantedDefinition, slim
from tests.builders.objects import widget_definition
from tests.cluster.fake import ApiServer, Call, Reply, refusal

WIDGETS = WantedDefinition("e2e.policyd.dev", "widgets")
NAMES = ("gadgets", "widgets", "things")


def crd(plural: str, group: str = WIDGETS.group, generation: int = 1) -> JSONObject:
    made = widget_definition()
    made["metadata"] = {"name": f"{plural}.{group}", "uid": plural, "generation": generation}
    made["spec"]["group"], made["spec"]["names"]["plural"] = group, plural
    return made


class Asked:
    """Definitions of one server and what was told of the questions."""

    def __init__(self, server: ApiServer) -> None:
        self.told: list[bool] = []
        config = configuration(server.kubeconfig())
        self.found = ClusterDefinitions(config, 5.0, lambda ok, _: self.told.append(ok))


@pytest.fixture
def crds() -> dict[str, JSONObject]:
    made = [crd(each) for each in NAMES] + [crd("others", "other.dev")]
    return {each["metadata"]["name"]: each for each in made}


@pytest.fixture
def asked(server: ApiServer, crds: dict[str, JSONObject]) -> Iterator[Asked]:
    def answer(call: Call) -> Reply:
        path, _, query = call.path.removeprefix("/").partition("?")
        if path == PATH:  # two pages
            items = list(crds.values())
            more = "continue=" not in query
            page = items[:2] if more else items[2:]
            metadata = {"continue": "x"} if more else {}
            return Reply({"kind": "List", "metadata": metadata, "items": page})
        name = path.removeprefix(f"{PATH}/")
        return Reply(crds[name]) if name in crds else refusal(404, "no such thing")

    server.answer = answer
    made = Asked(server)
    yield made
    made.found.close()


def plurals(found: list[JSONObject]) -> list[str]:
    return sorted(each["spec"]["names"]["plural"] for each in found)


def test_only_what_is_wanted_is_asked_for(
    server: ApiServer, asked: Asked, crds: dict[str, JSONObject]
) -> None:
    missing = WantedDefinition("nowhere.dev", "things")
    assert asked.found.fetch(frozenset([WIDGETS, missing])) == [slim(crds[WIDGETS.name])]
    assert sorted(call.path for call in server.calls) == [
        f"/{PATH}/things.nowhere.dev",
        f"/{PATH}/{WIDGETS.name}",
    ]
    assert asked.told == [True, True]
    assert asked.found.problem == ""


def test_every_definition_of_a_group(server: ApiServer, asked: Asked) -> None:
    wanted = frozenset([WantedDefinition(WIDGETS.group, EVERY), WIDGETS])
    assert plurals(asked.found.fetch(wanted)) == sorted(NAMES)
    assert plurals(asked.found.fetch(frozenset([WIDGETS]))) == ["widgets"]


def names(server: ApiServer) -> list[str]:
    """The definitions that were read since the last call, without what lists say of them."""
    asked = [call.path.removeprefix(f"/{PATH}") for call in server.calls]
    server.calls.clear()
    return sorted(each.removeprefix("/") for each in asked if each.startswith("/"))


def test_of_every_group_only_versions_are_kept_and_what_is_unchanged_is_not_read_again(
    server: ApiServer, asked: Asked, crds: dict[str, JSONObject]
) -> None:
    every = frozenset([WantedDefinition(EVERY, EVERY)])
    found = asked.found.fetch(every)
    assert sorted(found, key=str) == sorted(
        (slim(each, schemas=False) for each in crds.values()), key=str
    )
    assert names(server) == sorted(crds)
    changed = crds["others.other.dev"] = crd("others", "other.dev", generation=2)
    assert asked.found.changed()
    assert asked.found.outdated({"others.other.dev": version_of(changed)})
    assert asked.found.fetch(every) == found
    assert names(server) == ["others.other.dev"]
    assert not asked.found.changed()
    assert names(server) == []
    both = asked.found.fetch(every | {WIDGETS})
    assert slim(crds[WIDGETS.name]) in both, "a schema is needed where the group is named"
    assert len(both) == len(found)
    names(server)
    assert asked.found.fetch(every | {WIDGETS}) == both
    assert names(server) == []


def test_a_resource_of_every_group(
    server: ApiServer, asked: Asked, crds: dict[str, JSONObject]
) -> None:
    crds["widgets.other.dev"] = crd("widgets", "other.dev")
    found = asked.found.fetch(frozenset([WantedDefinition(EVERY, "widgets")]))
    assert names(server) == ["widgets.e2e.policyd.dev", "widgets.other.dev"]
    assert sorted(each["spec"]["group"] for each in found) == ["e2e.policyd.dev", "other.dev"]


def test_an_edit_for_every_group_reads_nothing_but_schemas_that_it_names(
    server: ApiServer, asked: Asked, crds: dict[str, JSONObject]
) -> None:
    every = frozenset([WantedDefinition(EVERY, EVERY)])
    assert asked.found.fetch_more(every, 0) == []
    asked.found.fetch(every)
    names(server)
    assert len(asked.found.fetch_more(every, 0) or []) == len(crds)
    assert names(server) == []
    assert asked.found.fetch_more(every | {WIDGETS}, 0) is None, "its schema is not known"
    assert slim(crds[WIDGETS.name]) in (asked.found.fetch_more(every | {WIDGETS}, 1) or [])


def test_nothing_wanted_asks_nothing(server: ApiServer, asked: Asked) -> None:
    assert asked.found.fetch(frozenset()) == []
    assert not asked.found.changed()
    assert server.calls == []


def test_what_an_edit_names_is_not_followed_and_bounded(
    server: ApiServer, asked: Asked, crds: dict[str, JSONObject]
) -> None:
    used, edited = frozenset([WIDGETS]), WantedDefinition(WIDGETS.group, "gadgets")
    asked.found.fetch(used)
    assert plurals(asked.found.fetch_more(used, 0) or []) == ["widgets"]
    both = used | {edited, WantedDefinition("nowhere.dev", "things")}
    assert asked.found.fetch_more(both, 1) is None
    assert plurals(asked.found.fetch_more(both, 2) or []) == ["gadgets", "widgets"]
    every = frozenset([WantedDefinition(WIDGETS.group, EVERY)])
    assert asked.found.fetch_more(every, 1) is None  # two more than are known
    assert plurals(asked.found.fetch_more(every, 2) or []) == sorted(NAMES)
    crds[edited.name] = crd("gadgets", generation=2)
    assert not asked.found.changed()
    server.answer = lambda _: refusal(500, "etcd is away")
    assert plurals(asked.found.fetch_more(both, 2) or []) == ["widgets"]
    assert asked.found.problem == ""


def test_what_counts_as_a_change(asked: Asked, crds: dict[str, JSONObject]) -> None:
    wanted = frozenset([WantedDefinition(WIDGETS.group, EVERY)])
    asked.found.fetch(wanted)
    crds[WIDGETS.name]["status"] = {"conditions": []}
    crds["others.other.dev"] = crd("others", "other.dev", 2)
    assert not asked.found.changed()
    crds[WIDGETS.name] = crd("widgets", generation=2)
    assert asked.found.changed()
    asked.found.fetch(wanted)
    assert not asked.found.changed()
    new = crd("news")
    crds[new["metadata"]["name"]] = new
    assert asked.found.changed()
    assert "news" in plurals(asked.found.fetch(wanted))
    crds.clear()  # a definition that was seen stays known
    assert not asked.found.changed()
    assert "news" in plurals(asked.found.fetch(wanted))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (refusal(403, "policyd may not"), "the API server answered 403: policyd may not"),
        (Reply(b"<html>"), "the lookup in the API server failed"),
        (Reply([1]), "the lookup in the API server failed"),
        (Reply({}), "the lookup in the API server failed"),
        (
            Reply({"kind": "List", "items": [{"metadata": []}]}),
            "the lookup in the API server failed",
        ),
    ],
)
def test_no_answer_changes_nothing(server: ApiServer, asked: Asked, reply: Reply, why: str) -> None:
    right = server.answer
    wanted = frozenset([WIDGETS, WantedDefinition(WIDGETS.group, EVERY)])
    known = asked.found.fetch(wanted)
    server.answer = lambda _: reply
    assert asked.found.fetch(wanted) == known
    assert asked.found.problem.startswith(why)
    assert not asked.found.changed()
    server.answer = right
    assert asked.found.fetch(wanted) == known
    assert asked.found.problem == ""


def test_one_that_cannot_be_read_hides_no_other_and_is_read_once(
    server: ApiServer, asked: Asked, crds: dict[str, JSONObject]
) -> None:
    answer, gadgets = server.answer, f"gadgets.{WIDGETS.group}"
    whole = json.dumps({**crds[gadgets], "spec": "deep"}).replace('"deep"', "[" * 2000 + "]" * 2000)

    def deep(call: Call) -> Reply:
        partial = "PartialObjectMetadata" in call.headers.get("Accept", "")
        return Reply(whole.encode()) if gadgets in call.path and not partial else answer(call)

    server.answer = deep
    wanted = frozenset([WantedDefinition(WIDGETS.group, EVERY)])
    assert plurals(asked.found.fetch(wanted)) == ["things", "widgets"]
    assert f"{gadgets}: the response is nested deeper than 1000 levels" in asked.found.problem
    versions = {name: version_of(each) for name, each in crds.items()}
    assert not asked.found.changed() and not asked.found.outdated(versions)
    crds[gadgets]["metadata"]["generation"] = 2
    assert asked.found.changed()

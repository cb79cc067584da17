"""``- $patch: append``, ``prepend`` and ``replace`` in the lists of an overlay."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd._core.patch.apply import apply, diff
from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.mutation.builders import POD, SCHEMAS, WIDGET, two_containers
from tests.mutation.overlays.builders import load, merged, mutated, overlaying
from tests.sampling import examples

SPOT = {"key": "spot", "operator": "Exists"}
GPU = {"key": "gpu", "operator": "Equal", "value": "1"}
NEW = {"key": "new", "operator": "Exists"}
APPEND: JSONObject = {"$patch": "append"}
PREPEND: JSONObject = {"$patch": "prepend"}

# (name, tolerations of the overlay, tolerations before, tolerations after)
LISTS: list[tuple[str, list[Any], list[Any] | None, list[Any] | None]] = [
    ("to other items", [APPEND, NEW], [SPOT, GPU], [SPOT, GPU, NEW]),
    ("to an empty list", [APPEND, NEW], [], [NEW]),
    ("to no list", [APPEND, NEW], None, [NEW]),
    ("an item that is there", [APPEND, GPU], [SPOT, GPU], [SPOT, GPU]),
    ("one that is there and one that is not", [APPEND, SPOT, NEW], [GPU, SPOT], [GPU, SPOT, NEW]),
    ("an item twice", [APPEND, NEW, NEW], [SPOT], [SPOT, NEW]),
    ("the mark may stand anywhere", [NEW, APPEND, GPU], [SPOT], [SPOT, NEW, GPU]),
    ("an item like another one", [APPEND, {"key": "spot"}], [SPOT], [SPOT, {"key": "spot"}]),
    ("nothing", [APPEND], [SPOT], [SPOT]),
    ("nothing to no list", [APPEND], None, None),
    ("at the beginning", [PREPEND, NEW], [SPOT, GPU], [NEW, SPOT, GPU]),
    ("several at the beginning", [PREPEND, NEW, GPU], [SPOT], [NEW, GPU, SPOT]),
    ("at the beginning of no list", [PREPEND, NEW], None, [NEW]),
    ("at the beginning, an item that is there", [PREPEND, GPU, NEW], [SPOT, GPU], [NEW, SPOT, GPU]),
    ("at the beginning, an item twice", [PREPEND, NEW, NEW], [SPOT], [NEW, SPOT]),
    ("at the beginning, nothing", [PREPEND], None, None),
    ("replace", [{"$patch": "replace"}, NEW], [SPOT], [NEW]),
    ("replace by nothing", [{"$patch": "replace"}], [SPOT], None),
    ("no mark", [NEW], [SPOT], [NEW]),
]


@pytest.mark.parametrize(
    ("tree", "before", "after"), [row[1:] for row in LISTS], ids=[row[0] for row in LISTS]
)
def test_lists_without_keys(
    tree: list[Any], before: list[Any] | None, after: list[Any] | None
) -> None:
    obj = two_containers()
    if before is not None:
        obj["spec"]["tolerations"] = before
    changed = merged({"spec": {"tolerations": tree}}, obj, POD)
    assert changed["spec"].get("tolerations") == after
    assert merged({"spec": {"tolerations": tree}}, changed, POD) == changed


def test_scalars_of_each_container() -> None:
    tree = {"spec": {"containers": [{"(name)": "*", "args": [APPEND, "-v", "--x"]}]}}
    obj = pod(container("a", "i", args=["--x", "-q"]), container("b", "i"))
    first, second = merged(tree, obj, POD)["spec"]["containers"]
    assert first["args"] == ["--x", "-q", "-v"]
    assert second["args"] == ["-v", "--x"]


def test_a_list_with_keys_is_replaced() -> None:
    tree = {"spec": {"containers": [{"$patch": "replace"}, {"name": "only", "image": "i"}]}}
    changed = merged(tree, two_containers(), POD)
    assert changed["spec"]["containers"] == [{"name": "only", "image": "i"}]


ITEM: JSONObject = {"name": "new"}
BOTH: list[JSONObject] = [ITEM, {"name": "b", "stdin": True}, {"name": "newer"}]

# (name, containers of the overlay, names of the containers after; before: a, b)
CONTAINERS: list[tuple[str, list[Any], list[str]]] = [
    ("a new item", [PREPEND, ITEM], ["new", "a", "b"]),
    ("the mark may stand anywhere", [ITEM, PREPEND], ["new", "a", "b"]),
    ("items that are there stay in place", [PREPEND, *BOTH], ["new", "newer", "a", "b"]),
    ("nothing new", [PREPEND, {"name": "b", "tty": True}], ["a", "b"]),
    ("beside conditions", [PREPEND, ITEM, {"(name)": "a", "tty": True}], ["new", "a", "b"]),
    ("beside a removal", [PREPEND, ITEM, {"name": "a", "$patch": "delete"}], ["new", "b"]),
]


@pytest.mark.parametrize(
    ("items", "names"), [row[1:] for row in CONTAINERS], ids=[row[0] for row in CONTAINERS]
)
def test_new_items_of_a_list_with_keys_go_first(items: list[Any], names: list[str]) -> None:
    tree = {"spec": {"containers": items}}
    changed = merged(tree, pod(container("a", "i"), container("b", "i")), POD)
    assert [each["name"] for each in changed["spec"]["containers"]] == names
    assert merged(tree, changed, POD) == changed
    found = {each["name"]: each for each in changed["spec"]["containers"]}
    for item in items:
        if item.get("stdin"):
            assert found[item["name"]]["stdin"] is True


def test_new_values_of_a_set_go_first() -> None:
    obj: JSONObject = {"metadata": {"finalizers": ["a/b", "c/d"]}}
    changed = merged({"metadata": {"finalizers": [PREPEND, "n/n", "c/d"]}}, obj, POD)
    assert changed["metadata"]["finalizers"] == ["n/n", "a/b", "c/d"]


def test_custom_resources() -> None:
    obj: JSONObject = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"plain": ["a"]}}
    tree = {"spec": {"plain": [APPEND, "a", "b"]}}
    assert merged(tree, obj, WIDGET)["spec"]["plain"] == ["a", "b"]


def test_constants_compare_as_the_api_server_stores_them() -> None:
    tree = {"spec": {"tolerations": [APPEND, {"key": "a", "operator": "Exists", "value": ""}]}}
    obj = two_containers(tolerations=[{"key": "a", "operator": "Exists"}])
    assert merged(tree, obj, POD)["spec"]["tolerations"] == obj["spec"]["tolerations"]


def test_expressions_in_new_items() -> None:
    policies = load(
        overlaying(
            """
            spec:
              tolerations:
              - $patch: append
              - {key: "team-${request.namespace}", operator: Exists}
              - "${object.metadata.?labels.?gpu.optMap(v, {'key': 'gpu', 'value': string(v)})}"
            """
        )
    )
    obj = pod(container("a", "i"), tolerations=[SPOT])
    once = mutated(policies, obj)
    assert once["spec"]["tolerations"] == [SPOT, {"key": "team-shop", "operator": "Exists"}]
    assert mutated(policies, once) == once
    labelled = pod(container("a", "i"), labels={"gpu": "2"}, tolerations=[SPOT])
    twice = mutated(policies, labelled)
    assert twice["spec"]["tolerations"][2] == {"key": "gpu", "value": "2"}
    assert mutated(policies, twice) == twice


ITEMS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"key": st.sampled_from("ab"), "value": st.sampled_from(["", "x"])}
    ),
    max_size=4,
)
ARGS = st.lists(st.sampled_from(["-a", "-b", "-c"]), max_size=4)


@settings(max_examples=examples(300), deadline=None)
@given(ITEMS, ITEMS, st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
def test_prepending_twice_is_prepending_once(
    live: list[JSONObject], added: list[JSONObject], names: list[str]
) -> None:
    obj = pod(container("a", "i"), container("b", "i"), tolerations=live)
    items = [{"name": name, "tty": True} for name in names]
    tree = {"spec": {"tolerations": [PREPEND, *added], "containers": [PREPEND, *items]}}
    once = merged(tree, obj, POD)
    assert merged(tree, once, POD) == once
    assert once["spec"]["tolerations"][len(once["spec"]["tolerations"]) - len(live) :] == live
    found = [each["name"] for each in once["spec"]["containers"]]
    assert found == [*(name for name in names if name not in "ab"), "a", "b"]
    assert apply(diff(obj, once, SCHEMAS.list_keys(POD)), obj) == once


@settings(max_examples=examples(500), deadline=None)
@given(ITEMS, ITEMS, ARGS, ARGS)
def test_appending_twice_is_appending_once(
    live: list[JSONObject], added: list[JSONObject], args: list[str], more: list[str]
) -> None:
    obj = pod(container("a", "i", args=args), tolerations=live)
    tree = {
        "spec": {
            "tolerations": [APPEND, *added],
            "containers": [{"name": "a", "args": [APPEND, *more]}],
        }
    }
    once = merged(tree, obj, POD)
    assert merged(tree, once, POD) == once
    assert once["spec"]["containers"][0]["args"][: len(args)] == args
    assert set(once["spec"]["containers"][0]["args"]) == {*args, *more}
    assert len(once["spec"]["tolerations"]) >= len(live)
    assert apply(diff(obj, once, SCHEMAS.list_keys(POD)), obj) == once

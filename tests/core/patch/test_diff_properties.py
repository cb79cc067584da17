"""Whatever two documents are: the diff of them leads from one to the other, also for jsonpatch."""

import copy
import json
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.json.equality import equal
from policyd._core.patch.apply import apply, diff
from policyd._core.patch.pointer import pointer_of
from tests.core.patch.samples import two_containers

# Few keys and values, so that trees have something in common.
scalars = st.sampled_from([None, True, False, 0, 1, 1.0, 0.5, "", "a", "b", 2**63, 2**53 + 1])
# Not "-": the jsonpatch package refuses it as a key. It has a row above.
names = st.sampled_from(["name", "key", "a", "a/b", "~", "", "0"])
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=4),
    max_leaves=25,
)


def checked(old: Any, new: Any) -> list[dict[str, Any]]:
    """The diff, after all that must hold of it does."""
    before = copy.deepcopy((old, new))
    operations = diff(old, new)
    assert equal(apply(operations, old), new)
    assert {operation["op"] for operation in operations} <= {"add", "remove", "replace"}
    assert (
        all(operation["path"] for operation in operations)
        or type(old) is not type(new)
        or not isinstance(old, (dict, list))
    )
    assert equal(list(before), [old, new])
    if isinstance(old, (dict, list)):
        assert jsonpatch.apply_patch(copy.deepcopy(old), json.dumps(operations)) == new
    return operations


@given(trees, trees)
def test_applying_the_diff_of_two_trees_gives_the_second(old: Any, new: Any) -> None:
    assert bool(checked(old, new)) != equal(old, new)


@given(trees)
def test_no_operations_for_what_is_equal(tree: Any) -> None:
    assert diff(tree, copy.deepcopy(tree)) == []


maps = st.dictionaries(names, scalars, max_size=6)


@given(maps, maps)
def test_one_operation_for_each_key_of_a_map_that_differs(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    absent = object()
    differing = [
        key for key in {**old, **new} if not equal(old.get(key, absent), new.get(key, absent))
    ]
    assert len(diff(old, new)) == len(differing)


letters = st.lists(st.sampled_from("abc"), max_size=7)


def edits(old: list[str], new: list[str]) -> int:
    """Levenshtein distance, row by row."""
    row = list(range(len(new) + 1))
    for i, a in enumerate(old, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(new, 1):
            last, row[j] = row[j], min(last + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


@given(letters, letters)
def test_lists_of_scalars_get_the_fewest_operations(old: list[str], new: list[str]) -> None:
    assert len(diff(old, new)) == edits(old, new)


named = st.lists(st.sampled_from("abcdef"), unique=True).map(
    lambda ns: [{"name": n, "v": n * 2} for n in ns]
)


@given(named, named)
def test_named_items_are_kept_by_name(old: list[dict[str, str]], new: list[dict[str, str]]) -> None:
    operations = checked(old, new)
    gone = [item for item in old if item not in new]
    come = [item for item in new if item not in old]
    in_order = [i for i in new if i in old] == [i for i in old if i in new]
    if in_order:
        assert len(operations) <= len(gone) + len(come)
    assert len(operations) <= len(old) + len(new)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Any, Any]:
    """A Pod, and it after a few changes by JSON pointers into it; the rest is shared."""
    old = new = two_containers()
    for _ in range(draw(st.integers(1, 4))):
        places = sorted(pointers(new))
        if not places:
            break
        path = draw(st.sampled_from(places))
        op = draw(st.sampled_from(["remove", "replace", "add"]))
        new = apply([{"op": op, "path": path, "value": draw(trees)}], new)
    return old, new


def pointers(tree: Any, at: tuple[str | int, ...] = ()) -> list[str]:
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    below = [pointer for key, value in items for pointer in pointers(value, (*at, key))]
    return [*below, pointer_of([*at])] if at else below


@given(mutated())
def test_applying_the_diff_of_a_mutated_pod_gives_it_again(pair: tuple[Any, Any]) -> None:
    checked(*pair)

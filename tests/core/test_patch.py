"""The diff gives exactly what was asked for, in few operations; apply follows RFC 6902."""

import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.json_equality import MAX_DEPTH, equal
from policyd._core.patch import apply, diff
from policyd._core.pointer import join, parse
from policyd.errors import PatchError


def pod() -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "containers": [
                {
                    "name": "app",
                    "image": "app:1",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                },
                {
                    "name": "log",
                    "image": "log:1",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                },
            ],
            "tolerations": [
                {"key": "a", "effect": "NoSchedule"},
                {"key": "a", "effect": "NoExecute"},
            ],
        },
    }


# old, new, the operations
CASES: list[tuple[Any, Any, list[dict[str, Any]]]] = [
    ({}, {}, []),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
    ({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}]),
    ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
    ({"a": 0}, {"a": False}, [{"op": "replace", "path": "/a", "value": False}]),
    (
        {"a": 9007199254740993},
        {"a": 9007199254740992},
        [{"op": "replace", "path": "/a", "value": 9007199254740992}],
    ),
    ({"a": None}, {}, [{"op": "remove", "path": "/a"}]),
    ({}, {"a": None}, [{"op": "add", "path": "/a", "value": None}]),
    ({"a": {}}, {"a": []}, [{"op": "replace", "path": "/a", "value": []}]),
    ({}, {"a": {"b": 1}}, [{"op": "add", "path": "/a", "value": {"b": 1}}]),
    ({}, {"x.y/z~": 1}, [{"op": "add", "path": "/x.y~1z~0", "value": 1}]),
    ({"": {"": 1}}, {"": {"": 2}}, [{"op": "replace", "path": "//", "value": 2}]),
    ({"-": 1}, {"-": 2}, [{"op": "replace", "path": "/-", "value": 2}]),
    ({"a": 1}, [], [{"op": "replace", "path": "", "value": []}]),
    # Scalars: what stays, stays.
    ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}]),
    ([1, 3], [1, 2, 3], [{"op": "add", "path": "/1", "value": 2}]),
    ([1, 2], [1, 2, 3], [{"op": "add", "path": "/2", "value": 3}]),
    (
        [],
        [1, 2],
        [{"op": "add", "path": "/0", "value": 1}, {"op": "add", "path": "/1", "value": 2}],
    ),
    (
        [1, 2, 3, 4],
        [0, 2, 4],
        [{"op": "replace", "path": "/0", "value": 0}, {"op": "remove", "path": "/2"}],
    ),
    (
        list("abcdef"),
        list("xbcdf"),
        [{"op": "replace", "path": "/0", "value": "x"}, {"op": "remove", "path": "/4"}],
    ),
    # Maps: by what identifies them.
    ([{"name": "a"}, {"name": "b"}], [{"name": "b"}], [{"op": "remove", "path": "/0"}]),
    (
        [{"name": "b"}],
        [{"name": "a"}, {"name": "b", "x": 1}],
        [
            {"op": "add", "path": "/0", "value": {"name": "a"}},
            {"op": "add", "path": "/1/x", "value": 1},
        ],
    ),
    (
        [{"name": "a", "v": 1}, {"name": "b", "v": 1}],
        [{"name": "b", "v": 2}],
        [{"op": "remove", "path": "/0"}, {"op": "replace", "path": "/0/v", "value": 2}],
    ),
    (
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}, {"name": "a"}],
        [{"op": "remove", "path": "/0"}, {"op": "add", "path": "/1", "value": {"name": "a"}}],
    ),
    (
        [{"name": "a", "v": 1}],
        [{"name": "b", "v": 1}],
        [{"op": "replace", "path": "/0/name", "value": "b"}],
    ),
    (
        [{"name": "a", "v": 1}],
        [{"name": "b", "v": 2}],
        [{"op": "replace", "path": "/0", "value": {"name": "b", "v": 2}}],
    ),
    # Maps that nothing identifies.
    ([{"x": 1}, {"x": 2}], [{"x": 2}], [{"op": "remove", "path": "/0"}]),
    (
        [{"x": 1, "y": 1}, {"x": 2, "y": 2}],
        [{"x": 1, "y": 1}, {"x": 2, "y": 3}],
        [{"op": "replace", "path": "/1/y", "value": 3}],
    ),
]


@pytest.mark.parametrize(("old", "new", "operations"), CASES)
def test_diff(old: Any, new: Any, operations: list[dict[str, Any]]) -> None:
    found = diff(old, new)
    assert repr(found) == repr(operations)
    assert equal(apply(found, old), new)


def test_changes_of_a_pod_are_as_many_operations() -> None:
    new = pod()
    new["metadata"]["annotations"] = {"seen": "yes"}
    new["spec"]["containers"].insert(0, {"name": "side", "image": "side:1"})
    new["spec"]["containers"][1]["env"].append({"name": "C", "value": "3"})
    new["spec"]["containers"][2]["ports"][0]["protocol"] = "UDP"
    new["spec"]["tolerations"].append({"key": "b"})
    assert diff(pod(), new) == [
        {"op": "add", "path": "/metadata/annotations", "value": {"seen": "yes"}},
        {"op": "add", "path": "/spec/containers/0", "value": {"name": "side", "image": "side:1"}},
        {"op": "add", "path": "/spec/containers/1/env/2", "value": {"name": "C", "value": "3"}},
        {"op": "replace", "path": "/spec/containers/2/ports/0/protocol", "value": "UDP"},
        {"op": "add", "path": "/spec/tolerations/2", "value": {"key": "b"}},
    ]


PORTS: tuple[list[Any], list[Any]] = (
    [{"port": 1, "p": "T"}, {"port": 1, "p": "U", "v": 1}],
    [{"port": 1, "p": "U", "v": 2, "w": 3}],
)
BY_KEYS: list[dict[str, Any]] = [
    {"op": "remove", "path": "/ports/0"},
    {"op": "replace", "path": "/ports/0/v", "value": 2},
    {"op": "add", "path": "/ports/0/w", "value": 3},
]


def test_keys_may_be_a_table_or_a_function() -> None:
    old: dict[str, Any] = {"ports": PORTS[0]}
    new: dict[str, Any] = {"ports": PORTS[1]}
    assert diff(old, new, {"/ports": ("port", "p")}) == BY_KEYS
    asked: list[tuple[str | int, ...]] = []

    def keys(path: tuple[str | int, ...]) -> tuple[str, ...] | None:
        asked.append(path)
        return ("port", "p")

    assert diff(old, new, keys) == BY_KEYS
    assert asked == [("ports",)]
    inside = diff([{"name": "a"} | old], [{"name": "a"} | new], {"/*/ports": ("port", "p")})
    assert [op["path"] for op in inside] == [f"/0{op['path']}" for op in BY_KEYS]


def test_keys_that_do_not_tell_items_apart_are_not_used() -> None:
    old, new = [{"a": 1}, {"a": 1}], [{"a": 1}]
    assert diff(old, new, lambda path: ("a",)) == [{"op": "remove", "path": "/1"}]
    assert diff([{"a": {}}], [{"a": []}], lambda path: ("a",)) == [
        {"op": "replace", "path": "/0/a", "value": []}
    ]


def test_shared_subtrees_are_not_looked_at() -> None:
    class Untouchable(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None

    shared = Untouchable()
    assert diff({"a": shared, "b": [shared]}, {"a": shared, "b": [shared], "c": 1}) == [
        {"op": "add", "path": "/c", "value": 1}
    ]


def test_long_lists_without_identity_stay_affordable() -> None:
    old, new = list(range(5_000)), list(range(5_000, 10_000))
    assert len(diff(old, new)) == 5_000
    assert diff(old, [*old[:2_000], -1, *old[2_000:]]) == [
        {"op": "add", "path": "/2000", "value": -1}
    ]


@pytest.mark.parametrize("kind", [lambda v: [v], lambda v: {"a": v}])
def test_depth_is_capped(kind: Any) -> None:
    def deep(levels: int, value: Any) -> Any:
        for _ in range(levels):
            value = kind(value)
        return value

    assert len(diff(deep(MAX_DEPTH, 1), deep(MAX_DEPTH, 2))) == 1
    with pytest.raises(PatchError, match="nested deeper than 1000 levels"):
        diff(deep(MAX_DEPTH + 1, 1), deep(MAX_DEPTH + 1, 2))
    with pytest.raises(PatchError, match="nested deeper"):
        apply([{"op": "test", "path": "", "value": deep(100_000, 1)}], deep(100_000, 1))


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
    old = new = pod()
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
    return [*below, join(at)] if at else below


@given(mutated())
def test_applying_the_diff_of_a_mutated_pod_gives_it_again(pair: tuple[Any, Any]) -> None:
    checked(*pair)


def test_apply_shares_what_it_does_not_change() -> None:
    old = pod()
    value: dict[str, Any] = {"deep": {}}
    new = apply(
        [
            {"op": "add", "path": "/metadata/x", "value": value},
            {"op": "add", "path": "/metadata/x/deep/y", "value": 1},
        ],
        old,
    )
    assert new["spec"] is old["spec"]
    assert new["metadata"]["labels"] is old["metadata"]["labels"]
    assert old == pod()
    assert value == {"deep": {}}


def test_apply_never_writes_to_what_was_copied_or_moved() -> None:
    old = {"a": {"x": 1}, "b": {}}
    new = apply(
        [
            {"op": "add", "path": "/a/y", "value": 2},
            {"op": "copy", "from": "/a", "path": "/b/c"},
            {"op": "replace", "path": "/a/x", "value": 3},
            {"op": "move", "from": "/b/c", "path": "/d"},
            {"op": "replace", "path": "/d/x", "value": 4},
        ],
        old,
    )
    assert new == {"a": {"x": 3, "y": 2}, "b": {}, "d": {"x": 4, "y": 2}}
    assert old == {"a": {"x": 1}, "b": {}}


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "remove", "path": "/no"}, "operation 0 (remove /no): there is no key 'no'"),
        (
            {"op": "replace", "path": "/no", "value": 1},
            "operation 0 (replace /no): there is no key 'no'",
        ),
        (
            {"op": "add", "path": "/no/a", "value": 1},
            "operation 0 (add /no/a): there is no key 'no'",
        ),
        (
            {"op": "add", "path": "/list/9", "value": 1},
            "operation 0 (add /list/9): index 9 is outside a list of 2",
        ),
        (
            {"op": "add", "path": "/list/01", "value": 1},
            "operation 0 (add /list/01): '01' is no index of a list",
        ),
        (
            {"op": "add", "path": "/list/٣", "value": 1},
            "operation 0 (add /list/٣): '٣' is no index of a list",
        ),
        (
            {"op": "remove", "path": "/list/-"},
            "operation 0 (remove /list/-): '-' is no index of a list",
        ),
        (
            {"op": "add", "path": "/text/a", "value": 1},
            "operation 0 (add /text/a): 'a' leads into a string",
        ),
        (
            {"op": "remove", "path": ""},
            "operation 0 (remove ): the whole document cannot be removed",
        ),
        (
            {"op": "test", "path": "/text", "value": "y"},
            "operation 0 (test /text): the value there is another one",
        ),
        (
            {"op": "move", "path": "/list/0", "from": "/list"},
            "operation 0 (move /list/0): a value cannot be moved into itself",
        ),
        (
            {"op": "move", "path": "/a", "from": "/no"},
            "operation 0 (move /a): there is no key 'no'",
        ),
        ({"op": "copy", "path": "/a"}, "operation 0 (copy /a): it has no 'from'"),
        ({"op": "add", "path": "/a"}, "operation 0 (add /a): it has no 'value'"),
        (
            {"op": "add", "path": 1, "value": 1},
            "operation 0 (add 1): 'path' must be a string, not a number",
        ),
        (
            {"op": "add", "path": "a", "value": 1},
            "operation 0 (add a): 'a' is no JSON pointer: it must be empty or start with '/'",
        ),
        (
            {"op": "add", "path": "/~2", "value": 1},
            "operation 0 (add /~2): '/~2' is no JSON pointer: '~' must be followed by 0 or 1",
        ),
        (
            {"op": "spam", "path": "/a"},
            "operation 0 (spam /a): 'spam' is no operation of JSON Patch",
        ),
        ({"path": "/a"}, "operation 0 (? /a): it has no 'op'"),
        ("add", "operation 0 is not an object but a string"),
    ],
)
def test_what_cannot_be_applied_says_why(operation: Any, text: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply([operation], {"list": [1, 2], "text": "x"})
    assert str(caught.value) == text


def test_a_patch_is_a_list() -> None:
    with pytest.raises(PatchError, match="a patch is a list of operations, not an object"):
        apply({}, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        (1, 1.0, True),
        (1, True, False),
        ("1", 1, False),
        ([1, {"a": 1}], [1.0, {"a": 1.0}], True),
        (None, False, False),
    ],
)
def test_test_compares_numbers_by_value(one: Any, other: Any, holds: bool) -> None:
    operations = [{"op": "test", "path": "/a", "value": other}]
    if holds:
        assert apply(operations, {"a": one}) == {"a": one}
    else:
        with pytest.raises(PatchError):
            apply(operations, {"a": one})


@given(st.lists(st.text()))
def test_pointers_are_parsed_as_they_are_joined(tokens: list[str]) -> None:
    assert parse(join(tokens)) == tuple(tokens)
    assert json.loads(json.dumps(join(tokens))) == join(tokens)

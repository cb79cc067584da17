"""The diff says exactly what changed, in few operations."""

from typing import Any

import pytest

from policyd._core.json.equality import MAX_DEPTH, equal
from policyd._core.patch.apply import apply, diff
from policyd.errors import PatchError
from tests.core.patch.samples import two_containers

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
    # New keys are found wherever they stand among the old ones.
    (
        {"a": 1, "b": 2},
        {"x": 0, "a": 1, "y": 0, "b": 2, "z": 0},
        [{"op": "add", "path": path, "value": 0} for path in ("/x", "/y", "/z")],
    ),
    ({"a": 1, "b": 2}, {"b": 2, "n": 0, "a": 1}, [{"op": "add", "path": "/n", "value": 0}]),
    (
        {"r": 1, "a": 1},
        {"a": 1, "n": 2},
        [{"op": "remove", "path": "/r"}, {"op": "add", "path": "/n", "value": 2}],
    ),
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
    new = two_containers()
    new["metadata"]["annotations"] = {"seen": "yes"}
    new["spec"]["containers"].insert(0, {"name": "side", "image": "side:1"})
    new["spec"]["containers"][1]["env"].append({"name": "C", "value": "3"})
    new["spec"]["containers"][2]["ports"][0]["protocol"] = "UDP"
    new["spec"]["tolerations"].append({"key": "b"})
    assert diff(two_containers(), new) == [
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

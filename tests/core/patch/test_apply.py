"""Applying a patch follows RFC 6902 and changes nothing that it was given."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policyd._core.patch.apply import apply
from policyd._core.patch.pointer import pointer_of, tokens_of
from policyd.errors import PatchError
from tests.core.patch.samples import two_containers


def test_apply_shares_what_it_does_not_change() -> None:
    old = two_containers()
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
    assert old == two_containers()
    assert value == {"deep": {}}


def test_operations_on_one_map_one_after_the_other() -> None:
    old: dict[str, Any] = {"a": {"b": {}, "~": {}}, "a/": [], "": {}}
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a/b/x", "value": 1},
        {"op": "add", "path": "/a/b/y~1", "value": 2},
        {"op": "add", "path": "/a/b/z", "value": 3},
        {"op": "add", "path": "/a/b", "value": {"new": 4}},
        {"op": "add", "path": "/a/b/x", "value": 5},
        {"op": "remove", "path": "/a/b"},
        {"op": "add", "path": "/a/~0/x", "value": 6},
        {"op": "add", "path": "/a/~0/y", "value": 7},
        {"op": "add", "path": "/a~1/0", "value": 8},
        {"op": "add", "path": "/a~1/0", "value": 9},
        {"op": "add", "path": "//x", "value": 10},
        {"op": "add", "path": "//", "value": 11},
        {"op": "add", "path": "/x", "value": 12},
        {"op": "add", "path": "/", "value": 13},
    ]
    new = apply(operations, old)
    assert new == {"a": {"~": {"x": 6, "y": 7}}, "a/": [9, 8], "": 13, "x": 12}
    assert old == {"a": {"b": {}, "~": {}}, "a/": [], "": {}}
    gone: list[dict[str, Any]] = [
        {"op": "add", "path": "/a/b/x", "value": 1},
        {"op": "remove", "path": "/a/b"},
        {"op": "add", "path": "/a/b/y", "value": 2},
    ]
    first: dict[str, Any] = {"op": "add", "path": "/x", "value": 1}
    assert apply([first, {"op": "add", "path": "", "value": 2}], old) == 2
    with pytest.raises(PatchError, match=r"operation 1 \(add y\): 'y' is no JSON pointer"):
        apply([first, {"op": "add", "path": "y", "value": 2}], old)
    with pytest.raises(PatchError, match=r"operation 2 \(add /a/b/y\): there is no key 'b'"):
        apply(gone, old)


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
    assert tokens_of(pointer_of([*tokens])) == tuple(tokens)


names = st.sampled_from(["a", "a", "0", "-", "~1"])
places = st.lists(names, max_size=4).map(lambda tokens: "".join(f"/{token}" for token in tokens))
inner = st.recursive(
    st.integers(0, 2),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=4),
)
operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "add", "replace", "remove", "copy", "move"]),
        "path": places,
        "from": places,
        "value": inner,
    }
)


def operation(op: str, path: str, **fields: Any) -> dict[str, Any]:
    return {"op": op, "path": path, "value": {"a": {}}, **fields}


def applied(steps: list[dict[str, Any]], tree: Any, *, together: bool) -> Any:
    """The tree after all operations that can be applied, in one patch or each in its own."""
    done: list[dict[str, Any]] = []
    after = tree
    for step in steps:
        with suppress(PatchError):
            after = apply([*done, step], tree) if together else apply([step], after)
            done.append(step)
    return after


@example({"a": {}}, [operation("add", "/a/0"), operation("copy", "/a/a", **{"from": "/a"})])
@example({}, [operation("add", "/a"), operation("add", ""), operation("add", "/a/a")])
@given(inner, st.lists(operations, max_size=8))
def test_a_patch_does_what_its_operations_do_one_by_one(
    tree: Any, steps: list[dict[str, Any]]
) -> None:
    before = copy.deepcopy((tree, steps))
    assert applied(steps, tree, together=True) == applied(steps, tree, together=False)
    assert (tree, steps) == before

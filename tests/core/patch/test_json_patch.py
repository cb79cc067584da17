"""JSON Patch as evanphx/json-patch v4 has it: results, words, and that the input stays as it was."""

import copy
from typing import Any

import pytest

from policyd._core.patch.json_patch import COPY_LIMIT, PatchOperation, apply
from policyd.errors import MutationError
from tests import shared

DOCUMENT: dict[str, Any] = {
    "data": {"a": "1", "x/y": "s", "t~": "t", "": "empty", "null": None},
    "list": ["p", {"q": 1}, 3],
    "n": 30,
}

RESULTS: list[tuple[str, list[PatchOperation], dict[str, Any]]] = [
    ("add a key", [PatchOperation("add", "/data/b", value="2")], {"/data/b": "2"}),
    ("replace adds", [PatchOperation("replace", "/data/b", value="2")], {"/data/b": "2"}),
    ("no value is null", [PatchOperation("add", "/data/b")], {"/data/b": None}),
    ("escapes", [PatchOperation("replace", "/data/x~1y", value="2")], {"/data/x/y": "2"}),
    ("unknown escape", [PatchOperation("add", "/data/~2", value="2")], {"/data/~2": "2"}),
    ("no leading slash", [PatchOperation("add", "anything/n", value=1)], {"n": 1}),
    ("copy from nothing", [PatchOperation("copy", "/data/b", "/data/no")], {"/data/b": None}),
    ("append", [PatchOperation("add", "/list/-", value=4)], {"list": ["p", {"q": 1}, 3, 4]}),
    ("append at -1", [PatchOperation("add", "/list/-1", value=4)], {"list": ["p", {"q": 1}, 3, 4]}),
    ("insert at 00", [PatchOperation("add", "/list/00", value=0)], {"list": [0, "p", {"q": 1}, 3]}),
    ("remove last", [PatchOperation("remove", "/list/-1")], {"list": ["p", {"q": 1}]}),
    (
        "inside a list",
        [PatchOperation("replace", "/list/-2/q", value=2)],
        {"list": ["p", {"q": 2}, 3]},
    ),
    ("move", [PatchOperation("move", "/n", "/list/1")], {"n": {"q": 1}, "list": ["p", 3]}),
    (
        "test passes",
        [PatchOperation("test", "/n", value=30.0), PatchOperation("add", "/m", value=1)],
        {"m": 1},
    ),
    (
        "test of nothing",
        [PatchOperation("test", "/no"), PatchOperation("add", "/m", value=1)],
        {"m": 1},
    ),
]

# A failing test drops all of the patch, without an error.
DROPPED: list[tuple[str, Any]] = [
    ("/n", "30"),
    ("/n", True),
    ("/no", None),
    ("/data/null", None),
    ("/data/a", {}),
    ("/list", ["p"]),
    ("", {"n": 30}),
]

ERRORS: list[tuple[PatchOperation, str]] = [
    (
        PatchOperation("remove", "/data/no"),
        "error in remove for path: '/data/no': Unable to remove nonexistent key: no: missing value",
    ),
    (
        PatchOperation("move", "/data/b", "/data/no"),
        "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
    ),
    (
        PatchOperation("add", "/no/deep", value=1),
        'add operation does not apply: doc is missing path: "/no/deep": missing value',
    ),
    (
        PatchOperation("add", "", value=1),
        'add operation does not apply: doc is missing path: "": missing value',
    ),
    (
        PatchOperation("add", "/data/null/x", value=1),
        'add operation does not apply: doc is missing path: "/data/null/x": missing value',
    ),
    (
        PatchOperation("replace", "/list/-", value=1),
        "replace operation does not apply: doc is missing key: /list/-: missing value",
    ),
    (
        PatchOperation("replace", "/no/x", value=1),
        "replace operation does not apply: doc is missing path: /no/x: missing value",
    ),
    (
        PatchOperation("test", "/no/deep", value=1),
        "test operation does not apply: is missing path: /no/deep: missing value",
    ),
    (
        PatchOperation("copy", "/data/c"),
        "copy operation failed to decode from: operation, missing from field: missing value",
    ),
    (
        PatchOperation("move", "/data/a/deeper", "/data/a"),
        "move operation does not apply: doc is missing destination path: /data/a/deeper: missing value",
    ),
    (
        PatchOperation("add", "/list/x", value=1),
        "error in add for path: '/list/x': value was not a proper array index: 'x': "
        'strconv.Atoi: parsing "x": invalid syntax',
    ),
    (
        PatchOperation("add", "/list/9", value=1),
        "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ),
    (
        PatchOperation("remove", "/list/-"),
        "error in remove for path: '/list/-': strconv.Atoi: parsing \"-\": invalid syntax",
    ),
    (
        PatchOperation("remove", "/list/-9"),
        "error in remove for path: '/list/-9': Unable to access invalid index: -9: invalid index referenced",
    ),
    (
        PatchOperation("add", "/list/" + "1" * 5000, value=1),
        f"error in add for path: '/list/{'1' * 5000}': value was not a proper array index: "
        f"'{'1' * 5000}': strconv.Atoi: parsing \"{'1' * 5000}\": value out of range",
    ),
    (
        PatchOperation("remove", "/list/-" + "0" * 5000 + "9"),
        f"error in remove for path: '/list/-{'0' * 5000}9': Unable to access invalid index: -9: "
        "invalid index referenced",
    ),
    (
        PatchOperation("test", "/list/9", value=1),
        "error in test for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ),
    (PatchOperation("bogus", "/n"), "Unexpected kind: bogus"),
    (PatchOperation("", "/n"), "Unexpected kind: "),
    (
        PatchOperation("add", "/a\x01b", value=1),
        "add operation failed to decode path: missing value",
    ),
]


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """DOCUMENT with changes: ``/data/x`` sets a key of data (nothing in it is escaped), others the root's."""
    document = copy.deepcopy(DOCUMENT)
    for name, value in changes.items():
        if name.startswith("/data/"):
            document["data"][name.removeprefix("/data/")] = value
        else:
            document[name] = value
    return document


@pytest.mark.parametrize(
    ("operations", "changes"), [row[1:] for row in RESULTS], ids=[row[0] for row in RESULTS]
)
def test_applies(operations: list[PatchOperation], changes: dict[str, Any]) -> None:
    document = copy.deepcopy(DOCUMENT)
    assert apply(operations, document) == changed(changes)
    assert document == DOCUMENT


@pytest.mark.parametrize(("path", "value"), DROPPED)
def test_failed_test_drops_the_whole_patch(path: str, value: Any) -> None:
    operations = [PatchOperation("add", "/m", value=1), PatchOperation("test", path, value=value)]
    assert apply(operations, DOCUMENT) is DOCUMENT


@pytest.mark.parametrize(("operation", "message"), ERRORS)
def test_errors_in_the_words_of_the_library(operation: PatchOperation, message: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    with pytest.raises(MutationError) as caught:
        apply([operation], document)
    assert str(caught.value) == f"JSON Patch: {message}"
    assert document == DOCUMENT


def test_what_is_not_written_is_shared() -> None:
    after = apply([PatchOperation("add", "/data/b", value="2")], DOCUMENT)
    assert after["list"] is DOCUMENT["list"]


def test_copies_do_not_share_later_changes() -> None:
    after = apply(
        [
            PatchOperation("replace", "/list/1/q", value=2),
            PatchOperation("copy", "/m", "/list"),
            PatchOperation("replace", "/m/1/q", value=3),
        ],
        DOCUMENT,
    )
    assert (after["list"][1], after["m"][1]) == ({"q": 2}, {"q": 3})


def test_values_given_are_never_written() -> None:
    value = {"k": {"deep": 1}}
    apply(
        [PatchOperation("add", "/m", value=value), PatchOperation("add", "/m/k/more", value=2)],
        DOCUMENT,
    )
    assert value == {"k": {"deep": 1}}


def test_copies_that_double_the_document_end() -> None:
    doubling = [PatchOperation("copy", "/list/-", "/list") for _ in range(64)]
    with pytest.raises(MutationError, match=f"size increase of copy is .* limit {COPY_LIMIT}"):
        apply(doubling, DOCUMENT)
    large = {"from": "x" * (COPY_LIMIT // 2 - 100), "to": {}}
    assert apply([PatchOperation("copy", f"/to/{n}", "/from") for n in range(2)], large)
    with pytest.raises(MutationError, match="Unable to complete the copy"):
        apply([PatchOperation("copy", f"/to/{n}", "/from") for n in range(3)], large)


# Rows of json-patch-tests, which follow the RFC, that the library answers in another way.
NOT_AS_THE_RFC = [
    ("add at the root is an error", {"op": "add", "path": "", "value": []}),
    ("add at the root is an error", {"op": "add", "path": "", "value": {}}),
    ("add at the root is an error", {"op": "add", "path": "", "value": {"baz": "qux"}}),
    ("a negative index counts from the end", {"op": "add", "path": "/bar/-1", "value": "5"}),
    ("a missing value is null", {"op": "add", "path": "/-"}),
    ("a missing value is null", {"op": "replace", "path": "/0"}),
    ("copy from a missing key gives null", {"op": "copy", "from": "/bar", "path": "/foo"}),
]


def chain(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"x": value}
    return value


@pytest.mark.parametrize("op", ["add", "replace", "move", "copy"])
def test_no_operation_makes_an_object_of_more_than_1000_levels(op: str) -> None:
    """Moves do not count as copies: each could put a chain below the chain before it."""
    for levels, fits in ((499, True), (500, False)):
        document = {"a": chain(500), "b": {"c": chain(levels)}}
        path = "/a" + "/x" * 500
        value = {"value": chain(levels)} if op in ("add", "replace") else {"source": "/b/c"}
        operations = [PatchOperation("add", path, value=None)] if op == "replace" else []
        operations.append(PatchOperation(op, path, **value))
        if fits:
            apply(operations, document)
        else:
            with pytest.raises(MutationError, match=f"{op} operation makes an object of more"):
                apply(operations, document)


def test_public_rows_but_for_the_known_differences() -> None:
    rows = [
        row
        for name in ("tests", "spec_tests")
        for row in shared.conformance(f"json-patch/{name}.json")
        if not row.get("disabled") and isinstance(row["doc"], dict | list) and well_typed(row)
    ]
    different = [row["patch"][0] for row in rows if not agrees(row)]
    print(f"{len(rows) - len(different)} passed of {len(rows)}")
    assert sorted(map(str, different)) == sorted(str(item) for _, item in NOT_AS_THE_RFC)


def well_typed(row: dict[str, Any]) -> bool:
    """Rows about patches that the type of JSONPatch already refuses have nothing to say here."""
    return all(isinstance(item.get("path", ""), str) for item in row["patch"])


def agrees(row: dict[str, Any]) -> bool:
    operations = [
        PatchOperation(
            item.get("op", ""), item.get("path", ""), item.get("from", ""), item["value"]
        )
        if "value" in item
        else PatchOperation(item.get("op", ""), item.get("path", ""), item.get("from", ""))
        for item in row["patch"]
    ]
    try:
        after = apply(operations, row["doc"])
    except MutationError:
        return "error" in row
    return bool(after == row.get("expected", row["doc"]))

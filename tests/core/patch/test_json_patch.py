"""JSON Patch as evanphx/json-patch v4 has it: results, words, and that the input stays as it was."""

import copy
from typing import Any

import pytest

from policyd._core.patch.json_patch import COPY_LIMIT, Operation, apply
from policyd.errors import MutationError
from tests import shared

DOCUMENT: dict[str, Any] = {
    "data": {"a": "1", "x/y": "s", "t~": "t", "": "empty", "null": None},
    "list": ["p", {"q": 1}, 3],
    "n": 30,
}

RESULTS: list[tuple[str, list[Operation], dict[str, Any]]] = [
    ("add a key", [Operation("add", "/data/b", value="2")], {"/data/b": "2"}),
    ("replace adds", [Operation("replace", "/data/b", value="2")], {"/data/b": "2"}),
    ("no value is null", [Operation("add", "/data/b")], {"/data/b": None}),
    ("escapes", [Operation("replace", "/data/x~1y", value="2")], {"/data/x/y": "2"}),
    ("unknown escape", [Operation("add", "/data/~2", value="2")], {"/data/~2": "2"}),
    ("no leading slash", [Operation("add", "anything/n", value=1)], {"n": 1}),
    ("copy from nothing", [Operation("copy", "/data/b", "/data/no")], {"/data/b": None}),
    ("append", [Operation("add", "/list/-", value=4)], {"list": ["p", {"q": 1}, 3, 4]}),
    ("append at -1", [Operation("add", "/list/-1", value=4)], {"list": ["p", {"q": 1}, 3, 4]}),
    ("insert at 00", [Operation("add", "/list/00", value=0)], {"list": [0, "p", {"q": 1}, 3]}),
    ("remove last", [Operation("remove", "/list/-1")], {"list": ["p", {"q": 1}]}),
    ("inside a list", [Operation("replace", "/list/-2/q", value=2)], {"list": ["p", {"q": 2}, 3]}),
    ("move", [Operation("move", "/n", "/list/1")], {"n": {"q": 1}, "list": ["p", 3]}),
    (
        "test passes",
        [Operation("test", "/n", value=30.0), Operation("add", "/m", value=1)],
        {"m": 1},
    ),
    ("test of nothing", [Operation("test", "/no"), Operation("add", "/m", value=1)], {"m": 1}),
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

ERRORS: list[tuple[Operation, str]] = [
    (
        Operation("remove", "/data/no"),
        "error in remove for path: '/data/no': Unable to remove nonexistent key: no: missing value",
    ),
    (
        Operation("move", "/data/b", "/data/no"),
        "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
    ),
    (
        Operation("add", "/no/deep", value=1),
        'add operation does not apply: doc is missing path: "/no/deep": missing value',
    ),
    (
        Operation("add", "", value=1),
        'add operation does not apply: doc is missing path: "": missing value',
    ),
    (
        Operation("add", "/data/null/x", value=1),
        'add operation does not apply: doc is missing path: "/data/null/x": missing value',
    ),
    (
        Operation("replace", "/list/-", value=1),
        "replace operation does not apply: doc is missing key: /list/-: missing value",
    ),
    (
        Operation("replace", "/no/x", value=1),
        "replace operation does not apply: doc is missing path: /no/x: missing value",
    ),
    (
        Operation("test", "/no/deep", value=1),
        "test operation does not apply: is missing path: /no/deep: missing value",
    ),
    (
        Operation("copy", "/data/c"),
        "copy operation failed to decode from: operation, missing from field: missing value",
    ),
    (
        Operation("move", "/data/a/deeper", "/data/a"),
        "move operation does not apply: doc is missing destination path: /data/a/deeper: missing value",
    ),
    (
        Operation("add", "/list/x", value=1),
        "error in add for path: '/list/x': value was not a proper array index: 'x': "
        'strconv.Atoi: parsing "x": invalid syntax',
    ),
    (
        Operation("add", "/list/9", value=1),
        "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ),
    (
        Operation("remove", "/list/-"),
        "error in remove for path: '/list/-': strconv.Atoi: parsing \"-\": invalid syntax",
    ),
    (
        Operation("remove", "/list/-9"),
        "error in remove for path: '/list/-9': Unable to access invalid index: -9: invalid index referenced",
    ),
    (
        Operation("add", "/list/" + "1" * 5000, value=1),
        f"error in add for path: '/list/{'1' * 5000}': value was not a proper array index: "
        f"'{'1' * 5000}': strconv.Atoi: parsing \"{'1' * 5000}\": value out of range",
    ),
    (
        Operation("remove", "/list/-" + "0" * 5000 + "9"),
        f"error in remove for path: '/list/-{'0' * 5000}9': Unable to access invalid index: -9: "
        "invalid index referenced",
    ),
    (
        Operation("test", "/list/9", value=1),
        "error in test for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ),
    (Operation("bogus", "/n"), "Unexpected kind: bogus"),
    (Operation("", "/n"), "Unexpected kind: "),
    (Operation("add", "/a\x01b", value=1), "add operation failed to decode path: missing value"),
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
def test_applies(operations: list[Operation], changes: dict[str, Any]) -> None:
    document = copy.deepcopy(DOCUMENT)
    assert apply(operations, document) == changed(changes)
    assert document == DOCUMENT


@pytest.mark.parametrize(("path", "value"), DROPPED)
def test_failed_test_drops_the_whole_patch(path: str, value: Any) -> None:
    operations = [Operation("add", "/m", value=1), Operation("test", path, value=value)]
    assert apply(operations, DOCUMENT) is DOCUMENT


@pytest.mark.parametrize(("operation", "message"), ERRORS)
def test_errors_in_the_words_of_the_library(operation: Operation, message: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    with pytest.raises(MutationError) as caught:
        apply([operation], document)
    assert str(caught.value) == f"JSON Patch: {message}"
    assert document == DOCUMENT


def test_what_is_not_written_is_shared() -> None:
    after = apply([Operation("add", "/data/b", value="2")], DOCUMENT)
    assert after["list"] is DOCUMENT["list"]


def test_copies_do_not_share_later_changes() -> None:
    after = apply(
        [
            Operation("replace", "/list/1/q", value=2),
            Operation("copy", "/m", "/list"),
            Operation("replace", "/m/1/q", value=3),
        ],
        DOCUMENT,
    )
    assert (after["list"][1], after["m"][1]) == ({"q": 2}, {"q": 3})


def test_values_given_are_never_written() -> None:
    value = {"k": {"deep": 1}}
    apply([Operation("add", "/m", value=value), Operation("add", "/m/k/more", value=2)], DOCUMENT)
    assert value == {"k": {"deep": 1}}


def test_copies_that_double_the_document_end() -> None:
    doubling = [Operation("copy", "/list/-", "/list") for _ in range(64)]
    with pytest.raises(MutationError, match=f"size increase of copy is .* limit {COPY_LIMIT}"):
        apply(doubling, DOCUMENT)
    large = {"from": "x" * (COPY_LIMIT // 2 - 100), "to": {}}
    assert apply([Operation("copy", f"/to/{n}", "/from") for n in range(2)], large)
    with pytest.raises(MutationError, match="Unable to complete the copy"):
        apply([Operation("copy", f"/to/{n}", "/from") for n in range(3)], large)


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
        Operation(item.get("op", ""), item.get("path", ""), item.get("from", ""), item["value"])
        if "value" in item
        else Operation(item.get("op", ""), item.get("path", ""), item.get("from", ""))
        for item in row["patch"]
    ]
    try:
        after = apply(operations, row["doc"])
    except MutationError:
        return "error" in row
    return bool(after == row.get("expected", row["doc"]))

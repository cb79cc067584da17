"""JSON patches: diff and apply of the core, beside the jsonpatch library where both are defined; patches
as the API server reads them; and merges by the schemas of Kubernetes.

An input is a list of two documents and operations: [before, after, operations].
"""

import copy
import json
from functools import cache
from typing import Any

import jsonpatch
import orjson
from jsonpointer import JsonPointerException

from policyd._core.json.equality import equal
from policyd._core.json.tree import normal
from policyd._core.patch import json_patch
from policyd._core.patch.apply import apply, diff
from policyd.errors import MutationError, PatchError, UnreadableReview
from policyd.mutation.apply_configuration import merged_object
from policyd.mutation.schemas.schemas import KindSchema, Schemas
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import reviews

OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
DEPTH = 200  # recursion of the library that is compared
WORDS = (
    *OPERATIONS,
    "op",
    "path",
    "from",
    "value",
    "name",
    "key",
    "containerPort",
    "protocol",
    "env",
    "ports",
    "",
    "/",
    "/-",
    "/0",
    "/1",
    "/-1",
    "/00",
    "/a",
    "/a/b",
    "/a~1b",
    "/~0",
    "/~2",
    "/metadata/labels",
    "/spec/containers/0/image",
    "/spec/containers/-",
    "spec/x",
    "/metadata",
    "/spec/containers/0",
)


def check(data: bytes) -> None:
    try:
        found = orjson.loads(data)
        before, after, operations = found
        normal(found, DEPTH)
    except (ValueError, TypeError, UnreadableReview):
        return
    held = orjson.dumps(found)
    differing(before, after)
    if isinstance(operations, list) and all(isinstance(each, dict) for each in operations):
        compared(before, operations)
        if isinstance(before, dict):
            interpreted(before, operations)
    if isinstance(before, dict) and isinstance(after, dict):
        merged(before, after)
    assert orjson.dumps(found) == held, "an argument was changed"


def differing(before: Any, after: Any) -> None:
    """The diff leads from one document to the other, for both libraries."""
    operations = diff(before, after)
    assert equal(apply(operations, before), after)
    assert bool(operations) != equal(before, after)
    if isinstance(before, dict | list):
        try:
            theirs = jsonpatch.apply_patch(copy.deepcopy(before), json.dumps(operations))
        except JsonPointerException:
            return  # it has no keys "-"
        assert equal(theirs, after), "jsonpatch reads the diff differently"


def compared(before: Any, operations: list[dict[str, Any]]) -> None:
    """Any patch: the result is that of the library, unless one of both refuses it."""
    try:
        ours = apply(operations, before)
    except PatchError as error:
        assert str(error)
        return
    if not isinstance(before, dict | list):
        return
    try:
        theirs = jsonpatch.apply_patch(copy.deepcopy(before), copy.deepcopy(operations))
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError):
        return  # its errors are others: what it refuses has rows in tests/core/patch
    assert equal(ours, theirs), "jsonpatch has another result"


def interpreted(before: Any, operations: list[dict[str, Any]]) -> None:
    """As the API server does it: a document or an error of the patch."""
    try:
        listed = [
            json_patch.PatchOperation(
                each["op"], each["path"], each.get("from", ""), each.get("value", json_patch.ABSENT)
            )
            for each in operations
        ]
    except (KeyError, TypeError):
        return  # what has no strings there is refused when it is read
    try:
        result = json_patch.apply(listed, before)
    except MutationError as error:
        assert str(error)
        return
    assert equal(result, json_patch.apply(listed, before)), "not the same twice"


@cache
def schemas() -> tuple[KindSchema, ...]:
    builtin = Schemas.builtin()
    kinds = (("", "v1", "Pod"), ("apps", "v1", "Deployment"), ("", "v1", "Service"))
    found = [builtin.lookup(*each) for each in kinds]
    return tuple(each for each in found if each is not None)


def merged(live: dict[str, Any], patch: dict[str, Any]) -> None:
    """A merge changes nothing when it is repeated."""
    for schema in schemas():
        try:
            once = merged_object(live, patch, schema)
        except MutationError as error:
            assert str(error)
            continue
        assert equal(merged_object(once, patch, schema), once), "a second merge changes the object"


def seeds() -> list[bytes]:
    """Recorded objects and changes of them."""
    listed = []
    for line in reviews.seeds()[:3]:
        obj = orjson.loads(line)["request"]["object"]
        other = copy.deepcopy(obj)
        other["metadata"]["labels"] = {"a/b": "c", "": "d"}
        other["spec"]["containers"].append(
            {"name": "x", "image": "y", "ports": [{"containerPort": 1}]}
        )
        listed.append([obj, other, diff(obj, other)])
    small: Any = {"a": [1, {"b": None}], "c/d": {"~": 1.0}}
    listed.append(
        [
            small,
            {"a": [{"b": None}, 1, 2], "e": True},
            [{"op": op, "path": "/a/0", "from": "/c~1d", "value": 1} for op in OPERATIONS],
        ]
    )
    patch = {
        "metadata": {"labels": {"x": "y"}},
        "spec": {"containers": [{"name": "x", "env": [{"name": "A", "value": "1"}]}]},
    }
    listed.append([orjson.loads(reviews.seeds()[0])["request"]["object"], patch, []])
    return [json.dumps(each).encode() for each in listed]


TARGET = FuzzTarget(check, seeds, mutating.json_mutation(WORDS))

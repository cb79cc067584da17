"""Responses that cannot be decoded as a whole: one object of a list hides no other."""

import json

import pytest

from policyd.admission.partial import MAX_OBJECT_DEPTH
from policyd.admission.review import decode
from policyd.cluster.bounds import InvalidAnswer, decoded
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review


def thing(name: str, depth: int) -> str:
    """An object of so many levels."""
    metadata = json.dumps({"name": name, "namespace": "shop", "labels": {"a": "b"}})
    below = depth - 1
    return f'{{"metadata": {metadata}, "spec": {"[" * below}{"]" * below}}}'


def listed(*things: str) -> bytes:
    head = '{"kind": "ThingList", "metadata": {"continue": "more"}, "items": ['
    return f"{head}{', '.join(things)} ]}}".encode()


def unreadable(found: JSONObject) -> str:
    typed = {"apiVersion": "example.com/v1", "kind": "Thing", **found}
    return decode(build_review(typed)).unreadable


@pytest.mark.parametrize("depth", [999, MAX_OBJECT_DEPTH, 1001, 1022, 1023, 1024, 1025, 9000])
def test_an_object_that_is_nested_too_deep_hides_no_other(depth: int) -> None:
    deep = thing("deep", depth)
    page = decoded(listed(thing("first", 3), deep, thing("last", 2)))
    assert page["kind"] == "ThingList" and page["metadata"] == {"continue": "more"}
    first, found, last = page["items"]
    assert (first["spec"], last["spec"]) == ([[]], [])
    assert found["metadata"] == json.loads(thing("deep", 2))["metadata"]
    assert [unreadable(each) != "" for each in page["items"]] == [
        False,
        depth > MAX_OBJECT_DEPTH,
        False,
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[", "not JSON"),
        (b"{} {}", "not JSON"),
        (listed(thing("a", 2)) + b"x", "not JSON"),
        (thing("deep", 1001).encode(), "nested deeper than 1000 levels"),
        (thing("deep", 9000).encode(), "nested deeper than 1000 levels"),
        (b'{"items": ' + thing("deep", 2000).encode() + b"}", "nested deeper than 1000 levels"),
        (b'{"a": 1e999}', "a number that is too large"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[]", "not a JSON object"),
    ],
)
def test_anything_else_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InvalidAnswer, match=message):
        decoded(data)

"""What no JSON Patch can carry: numbers outside int64, what is no number, and values too deep."""

from typing import Any

import pytest

from policyd._core.json.sendable import unsendable


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    "value", [None, True, 2**63 - 1, -(2**63), 1.5, 1e308, "x", [], {}, nested(250)]
)
def test_json_that_the_api_server_reads_back_is_sent(value: Any) -> None:
    assert unsendable([{"op": "remove", "path": "/a"}]) is None
    assert unsendable([{"op": "add", "path": "/a", "value": value}]) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (2**63, "the number 9223372036854775808, which is outside int64"),
        ([{"a": -(2**63) - 1}], "the number -9223372036854775809, which is outside int64"),
        (float("nan"), "the number nan, which JSON cannot carry"),
        ({"a": [float("-inf")]}, "the number -inf, which JSON cannot carry"),
        (nested(251), "a value nested deeper than 250 levels"),
        (["é", {"a": "\ud800"}], "a string with half of a surrogate pair"),
        ({"a\udfff": 1}, "a string with half of a surrogate pair"),
    ],
)
def test_what_is_not_sent_is_told(value: Any, problem: str) -> None:
    operations = [{"op": "remove", "path": "/b"}, {"op": "add", "path": "/a", "value": value}]
    assert unsendable(operations) == problem


def test_a_path_is_unicode_too() -> None:
    assert unsendable([{"op": "remove", "path": "/\ud800"}]) is not None

"""How deep values are, whatever they are made of, and how deep their JSON is."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd._core.json.sizes import is_deeper
from policyd._core.json.tree import is_ordinary


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        (1, 1),
        (None, 1),
        ("text", 1),
        ({}, 1),
        ([], 1),
        ((), 1),
        ({"a": 1}, 2),
        ([{}, 2], 2),
        ({"a": [1]}, 3),
        ({"a": 1, "b": ({"c": [None]},)}, 5),
        (nested(1_000), 1_000),
    ],
)
def test_a_value_has_exactly_its_levels(value: Any, levels: int) -> None:
    assert not is_deeper(value, levels)
    assert is_deeper(value, levels - 1)


def test_the_rest_of_a_deep_value_is_not_visited() -> None:
    assert is_deeper(nested(200_000), 1_000)


texts = st.text(st.sampled_from('[]{}"\\ué'), max_size=6)
values = st.recursive(
    texts | st.sampled_from([None, True, -1.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=20,
)


@given(values, st.integers(0, 6))
def test_levels_of_json_are_those_of_its_value(value: Any, levels: int) -> None:
    for body in (orjson.dumps(value), json.dumps(value, indent=1).encode()):
        # A string or a number is a level of the value, but has no brackets.
        assert is_ordinary(body, levels) != is_deeper(brackets(value), levels + 1)


def brackets(value: Any) -> Any:
    """The value as lists, with a number in each."""
    if not isinstance(value, list | dict):
        return 0
    return [0, *map(brackets, value if isinstance(value, list) else value.values())]

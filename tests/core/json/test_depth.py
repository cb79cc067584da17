"""How deep values are, whatever they are made of."""

from typing import Any

import pytest

from policyd._core.json.sizes import is_deeper


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

"""What the API server refuses in selectors, in its words."""

from typing import Any

import pytest

from policyd._core.match.labels import key_errors, value_errors
from policyd._core.match.selectors import Selector

VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize("key", ["a", "example.com/a", "a.b_c-D", "a" * 63, "x.y/" + "a" * 63])
def test_good_keys(key: str) -> None:
    assert key_errors(key) == []


@pytest.mark.parametrize(
    ("key", "errors"),
    [
        ("a b", [f"name part {NAME}"]),
        ("a\n", [f"name part {NAME}"]),
        ("", ["name part must be non-empty", f"name part {NAME}"]),
        ("/a", ["prefix part must be non-empty"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        (
            "a/b/c",
            [
                f"a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_bad_keys(key: str, errors: list[str]) -> None:
    assert key_errors(key) == errors


def test_values() -> None:
    assert value_errors("") == value_errors("a.b") == []
    assert value_errors("bad value") == [VALUE]
    assert value_errors("ä" * 32) == ["must be no more than 63 bytes", VALUE]


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (
            {"matchExpressions": [{"key": "a", "operator": "Near"}]},
            '"Near" is not a valid label selector operator',
        ),
        ({"matchLabels": {"a": "b c"}}, f'values[0][a]: Invalid value: "b c": {VALUE}'),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
        ),
        (
            {"matchExpressions": [{"key": "a b", "operator": "In"}]},
            f"[key: Invalid value: \"a b\": name part {NAME}, values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty]",
        ),
    ],
)
def test_a_malformed_selector_cannot_be_made(selector: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        Selector(selector)
    assert str(caught.value) == text


def test_an_empty_selector_matches_everything() -> None:
    assert Selector().empty
    assert Selector({}).matches({"a": "b"})

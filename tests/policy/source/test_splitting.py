"""Splitting files: what separates two documents, and what only looks like it."""

import pytest

from policyd.json_types import JSON
from policyd.policy.source.splitting import read_values

A: JSON = {"a": 1}
B: JSON = {"b": 2}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a: 1\n---\nb: 2\n", [A, B]),
        ("---\na: 1\n---\nb: 2\n---", [A, B]),
        ("---\n---\na: 1\n---\n---\nb: 2\n", [A, B]),
        ("--- \na: 1\n---\t\nb: 2\n", [A, B]),
        ("---\r\na: 1\r\n---\r\nb: 2\r\n", [A, B]),
        ("--- {a: 1}\n--- # another\nb: 2\n", [A, B]),
        ("a: 1\n... \n---\nb: 2\n", [A, B]),
        ("a: |-\n  ---\n  x\n---\nb: 2\n", [{"a": "---\nx"}, B]),
        ("---a: 1\n---\nb: 2\n", [{"---a": 1}, B]),
        ("----: 1\n----a: 2\n", [{"----": 1, "----a": 2}]),
        ("a: 1\n--", []),
        ("---", []),
        ("", []),
    ],
)
def test_documents_are_separated_by_lines_of_three_dashes(text: str, values: list[JSON]) -> None:
    assert read_values("text", text.encode())[0] == values

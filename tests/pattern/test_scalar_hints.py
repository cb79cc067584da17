"""Strings in place of booleans and numbers: what to write."""

import pytest

from policyd.pattern.scalar_hints import unquoted_hint

HINTS = [
    ("true", False, "write true, without quotes"),
    ("No", False, "write false, without quotes"),
    ("maybe", False, "write true or false"),
    (3, False, ""),
    ("25%", True, "write 25, without % and quotes"),
    ("-1.5", True, "write -1.5, without quotes"),
    ("10s", True, "write 10, without s and quotes"),
    ("500ms", True, "write a number, without unit and quotes"),
    ("high", True, "write a number, without unit and quotes"),
    (True, True, ""),
]


@pytest.mark.parametrize(("value", "number", "hint"), HINTS)
def test_what_to_write_instead(value: object, number: bool, hint: str) -> None:
    assert unquoted_hint(value, number=number) == hint

"""The regular expression check finds those that backtrack."""

import re

import pytest

from tests.sampling import sampled
from tools.check_patterns import slow_attack


@pytest.mark.parametrize(
    ("pattern", "searched"),
    sampled(
        [
            (r"(a+)+b", False),
            (r"(?:a|a)*b", False),
            (r"[+-]?(0*)(\d*)(?:\.(\d*))?([eE]*[-+]?\d*)\Z", False),
            (r"[0-9]+\.?[0-9]*z", False),
            (r"x=\w*\d*;", False),
            (r"\s+$", True),
            (r"\[([^\]]*)\]", True),
            (r".*a.*a.*a.*b", False),
        ]
    ),
)
def test_what_backtracks_is_found(pattern: str, searched: bool) -> None:
    assert slow_attack(re.compile(pattern), searched) is not None


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [
        (r"[a-z]+\Z", False),
        (r"[+-]?\d++(?:\.\d++)?", False),
        (r"\s+$", False),
        (r"[\x00-\x1f]", True),
    ],
)
def test_what_does_not_is_left_alone(pattern: str, searched: bool) -> None:
    assert slow_attack(re.compile(pattern), searched) is None

"""Finding all matches in linear time: the spans are those of RE2, which prefers as Go does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from re2 import _re2

from policyd._core.regex import program
from policyd._core.regex.backtracking import Backtracking
from policyd._core.regex.syntax import parse
from policyd.errors import CostExceeded
from tests.core.lib.evaluate import evaluate
from tests.core.regex.patterns import PATTERNS, TEXTS

LONG = 200_000


def spans(pattern: str, text: str) -> list[tuple[int, int]] | None:
    made = program.machine(parse(pattern).text)
    assert made is not None
    return Backtracking.spans(made, text)


def spans_of_re2(pattern: str, text: str) -> list[tuple[int, int]]:
    search = _re2.RE2(parse(pattern).text.encode(), _re2.RE2.Options()).Match
    data, at = text.encode(), 0
    found = []
    while at <= len(data):
        each = search(_re2.RE2.Anchor.UNANCHORED, data, at, len(data))
        if not each or each[0][0] < 0:
            break
        found.append((each[0][0], each[0][1]))
        at = max(each[0][0] + 1, each[0][1])
    return found


@settings(max_examples=400)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=6))
def test_spans_are_those_of_re2(pattern: str, texts: list[str]) -> None:
    for text in texts:
        assert spans(pattern, text) == spans_of_re2(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a|ab", "ab", [(0, 1)]),
        ("ab|a", "ab", [(0, 2)]),
        ("a*?", "aa", [(0, 0), (1, 1), (2, 2)]),
        ("(|a)*", "aa", [(0, 0), (1, 1), (2, 2)]),
        ("(|a)+", "aa", [(0, 0), (1, 1), (2, 2)]),
        ("(a|b)*?b", "aabb", [(0, 3), (3, 4)]),
        ("a{1,2}?", "aaa", [(0, 1), (1, 2), (2, 3)]),
        ("0*1|0", "0001000", [(0, 4), (4, 5), (5, 6), (6, 7)]),
        (r"\b", "a b", [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ("(?m:^a$)", "a\nb\na", [(0, 1), (4, 5)]),
    ],
)
def test_the_first_alternative_is_preferred(
    pattern: str, text: str, found: list[tuple[int, int]]
) -> None:
    assert spans(pattern, text) == spans_of_re2(pattern, text) == found


def test_only_ascii_strings_are_searched() -> None:
    assert spans("a", "aä") is None


@pytest.mark.parametrize(
    ("pattern", "text", "count"),
    [
        ("0*1|0", "0" * LONG, LONG),
        ("a*b|a", "a" * LONG + "b", 1),
        ("(x+x+)+y|x", "x" * LONG, LONG),
        ("0*1|00|", "0" * LONG, LONG // 2),
        ("[a-z]+[0-9]|[a-z ]", "abc d " * (LONG // 6), LONG // 6 * 6),
    ],
)
def test_matches_that_look_far_ahead_are_all_found(pattern: str, text: str, count: int) -> None:
    found = evaluate(f"t.findAll('{pattern}')", t=text)
    assert len(found) == count
    assert "".join(found) == text


def test_what_only_re2_can_search_has_a_bound() -> None:
    with pytest.raises(CostExceeded, match="finding all matches"):
        evaluate("t.findAll('0*1|0')", t="0" * LONG + "ä")

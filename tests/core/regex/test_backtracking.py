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
from tests.core.regex import re2
from tests.core.regex.patterns import PATTERNS, TEXTS, UNICODE
from tests.sampling import examples

LONG = 200_000


def spans(pattern: str, text: str) -> list[tuple[int, int]] | None:
    made = program.machine(parse(pattern).text)
    assert made is not None
    return Backtracking.spans(made, text)


def spans_of_re2(pattern: str, text: str) -> list[tuple[int, int]]:
    return re2.spans(_re2.RE2(parse(pattern).text.encode(), _re2.RE2.Options()), text)


@settings(max_examples=examples(400))
@given(PATTERNS, st.lists(TEXTS | UNICODE, min_size=1, max_size=6))
def test_spans_are_those_of_re2(pattern: str, texts: list[str]) -> None:
    for text in texts:
        if re2.finds_what_go_finds(parse(pattern).text, text):
            assert spans(pattern, text) == spans_of_re2(pattern, text)


@pytest.mark.parametrize("pattern", ["((|b)*(|b)*)*", "(((b??)*){3})*", "((b??)*(b??)*)*"])
def test_loops_prefer_as_in_go_where_re2_does_not(pattern: str) -> None:
    assert spans(pattern, "bb") == [(0, 0), (1, 1), (2, 2)]


def test_no_boundary_is_found_between_characters_only() -> None:
    assert spans(r"\B", "éé") == [(0, 0), (1, 1), (2, 2)]
    assert spans(r"\B", "éa") == [(0, 0)]


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


@pytest.mark.parametrize(
    "pattern", [".", r"\pL", "[^a]", "(?i:k)", "(?i:ǆ)", "[α-ω]|é", r"\w|\P{Lu}"]
)
def test_sets_have_the_characters_that_they_have_in_re2(pattern: str) -> None:
    some = "".join(map(chr, (*range(0x600), 0x212A, 0xFFFD, *range(0xFFF0, 0x10010), 0x10FFFF)))
    assert spans(pattern, some) == spans_of_re2(pattern, some)


@pytest.mark.parametrize(
    ("pattern", "text", "count"),
    [
        ("0*1|0", "0" * LONG, LONG),
        ("a*b|a", "a" * LONG + "b", 1),
        ("(x+x+)+y|x", "x" * LONG, LONG),
        ("0*1|00|", "0" * LONG, LONG // 2),
        ("[a-z]+[0-9]|[a-z ]", "abc d " * (LONG // 6), LONG // 6 * 6),
        ("0*1|0|ä", "0" * LONG + "ä", LONG + 1),
        ("é*1|é", "é" * LONG, LONG),
        (".*1|.", "\U0001f600é\U0001f600" * (LONG // 3), LONG // 3 * 3),
        ("(|é*1)é?", "é" * LONG, LONG),
    ],
)
def test_matches_that_look_far_ahead_are_all_found(pattern: str, text: str, count: int) -> None:
    found = evaluate(f"t.findAll('{pattern}')", t=text)
    assert len(found) == count
    assert "".join(found) == text


def test_unicode_classes_are_searched_in_linear_time() -> None:
    text = "ж" * (LONG // 5)
    assert "".join(evaluate(r"t.findAll('\\pL*1|\\pL')", t=text)) == text


def test_the_rest_is_found_where_re2_stopped() -> None:
    """After a match that was empty, and one that was not; positions are those of characters."""
    text = "é0ä" * LONG
    assert evaluate("t.findAll('0*1|0|')", t=text) == evaluate("t.findAll('0|')", t=text)
    assert evaluate("t.findAll('é.*1|é', 200000)", t=text) == ["é"] * LONG


def test_many_different_characters_are_searched_in_linear_time() -> None:
    text = "".join(map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x30000))))
    assert "".join(evaluate(r"t.findAll('(?s:.*1|\\pL|.)')", t=text)) == text


LARGE = "0*1|0|" + "|".join(f"a{number}" for number in range(600))


def test_what_only_re2_can_search_has_a_bound() -> None:
    assert program.machine(parse(LARGE).text) is None
    with pytest.raises(CostExceeded, match="finding all matches"):
        evaluate(f"t.findAll('{LARGE}')", t="0" * LONG + "ä")

"""Laws that hold for all inputs: what is printed reads back, cheap regex engines agree with a full one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.core.lib.evaluate import evaluate

SECONDS = st.integers(-62135596800, 253402300799)
WORDS = st.text("ab.*", max_size=4)


@given(SECONDS, st.integers(-24 * 60, 24 * 60))
def test_a_timestamp_reads_back_what_it_prints(seconds: int, minutes: int) -> None:
    sign = "-" if minutes < 0 else "+"
    offset = f"{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    printed = evaluate("string(timestamp(s))", s=seconds)
    assert evaluate("int(timestamp(t))", t=printed) == seconds
    shifted = evaluate("string(timestamp(t))", t=printed.replace("Z", offset))
    if isinstance(shifted, str):
        assert evaluate("int(timestamp(t))", t=shifted) == seconds - minutes * 60


@given(st.integers(-(10**9), 10**9))
def test_a_duration_of_whole_seconds_reads_back_what_it_prints(seconds: int) -> None:
    printed = evaluate("string(duration(d))", d=f"{seconds}s")
    assert printed == f"{seconds}s"
    assert evaluate("duration(p) == duration(d)", p=printed, d=f"{seconds}s") is True


def test_a_duration_prints_through_a_double_as_in_go() -> None:
    assert evaluate("string(duration('1848ms'))") == "1.8479999999999999s"


@given(WORDS, WORDS, st.booleans(), st.booleans())
def test_literal_patterns_match_as_regular_expressions(
    text: str, word: str, from_start: bool, to_end: bool
) -> None:
    pattern = ("^" if from_start else "") + re.escape(word) + ("$" if to_end else "")
    python = pattern.removesuffix("$") + r"\Z" if to_end else pattern
    assert evaluate("t.matches(p)", t=text, p=pattern) == bool(re.search(python, text))


@given(WORDS, st.lists(st.text("ab", max_size=3), min_size=1, max_size=4))
def test_alternatives_match_as_a_regular_expression(text: str, words: list[str]) -> None:
    inside = "|".join(words)
    assert evaluate("t.matches(p)", t=text, p=f"^({inside})$") == (text in words)


@given(st.text("ab ", max_size=12))
def test_find_all_finds_what_splitting_leaves(text: str) -> None:
    assert evaluate("t.findAll('[^ ]+')", t=text) == text.split()


@given(st.lists(st.integers(-5, 5), max_size=30))
def test_sort_is_sorted_and_keeps_every_element(items: list[int]) -> None:
    assert evaluate("x.sort()", x=items) == sorted(items)
    assert evaluate("x.sort().isSorted()", x=items) is True


@given(st.integers(-(10**17), 10**17), st.sampled_from(["", "k", "Ki", "m", "e3"]))
def test_quantities_are_ordered_as_numbers(number: int, suffix: str) -> None:
    factor = {"": 1000, "k": 10**6, "Ki": 1024000, "m": 1, "e3": 10**6}[suffix]
    whole = evaluate("quantity(q).compareTo(quantity(m))", q=f"{number}{suffix}", m="1M")
    capped = min(number * factor, (2**63 - 1) * 1000) if suffix == "Ki" else number * factor
    assert whole == (capped > 10**9) - (capped < 10**9)

"""Leaves: every operator over every type; the rows of the tables in docs/write/patterns.md."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policyd.pattern import PatternError, compile_pattern
from policyd.pattern.leaves import joined
from tests.pattern.rows import LEAVES


@pytest.mark.parametrize(("pattern", "fits", "fails"), LEAVES)
def test_a_leaf_fits(pattern: Any, fits: Sequence[Any], fails: Sequence[Any]) -> None:
    compiled = compile_pattern(pattern)
    for values, wanted in ((fits, True), (fails, False)):
        assert [each for each in values if compiled.holds(each) is not wanted] == []
        assert [each for each in values if (compiled.check(each) is None) is not wanted] == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (">", "the operator > of"),
        ("< ", "the operator < of"),
        ("!", "the operator ! of"),
        (">=1 & ", "nothing stands beside an operator"),
        ("|", "nothing stands beside an operator"),
        ("a||b", "nothing stands beside an operator"),
        (">x", "> cannot compare with 'x'"),
        ("<=1Gib", "<= cannot compare"),
        (">*", "> cannot compare"),
        ("=1", None),
        ("=<4Gi", "there is no operator =<"),
        ("1 | => 5", "there is no operator =>"),
        ("==a", "there is no operator =="),
        ("≤4Gi", "there is no operator ≤"),
        ("!!a", "two operators follow each other"),
        ("!>1", "two operators follow each other"),
        ("> >1", "> cannot compare with '>1'"),
        ("10-1h", "the ends of the range 10-1h do not compare"),
        ("{{ request.namespace }}-*", '"{{ request.namespace }}-*": patterns have no variables'),
        ("$(<=./../../limits/memory)", '"$(<=./../../limits/memory)": patterns have no variables'),
        ("$(POD_NAME)", None),
        ("5-1", "the range 5-1 starts above its end"),
        ("1Gi!-1Mi", "the range 1Gi!-1Mi starts above its end"),
    ],
)
def test_what_cannot_be_meant_is_refused(pattern: str, message: str | None) -> None:
    if message is None:
        assert compile_pattern(pattern).holds(pattern)
        return
    with pytest.raises(PatternError) as caught:
        compile_pattern({"a": [pattern]})
    (fault,) = caught.value.faults
    assert fault.message.startswith(message)
    assert fault.path == ("a", 0)
    assert fault.hint


SCALARS = st.one_of(
    st.text(max_size=12),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,2})?(m|k|Ki|Mi|Gi|s|h)?", fullmatch=True),
)
OPERANDS = st.one_of(
    st.text("ab*?", min_size=1, max_size=6),
    st.from_regex(r"-?[0-9]{1,3}(\.[0-9])?(m|Ki|Mi|s|h)?", fullmatch=True),
)
AMOUNTS = st.from_regex(r"-?[0-9]{1,3}(\.[0-9])?(m|k|Ki|Mi)?", fullmatch=True)


@given(OPERANDS, SCALARS)
def test_a_negation_is_the_complement_of_what_it_negates(operand: str, value: Any) -> None:
    assume("!" not in operand and value not in (operand, f"!{operand}"))
    try:
        plain = compile_pattern(operand)
    except PatternError:
        return  # a range that cannot be meant
    assume("-" not in operand[1:])  # there is no negation of a range
    assert compile_pattern(f"!{operand}").holds(value) is not plain.holds(value)


@given(AMOUNTS, AMOUNTS)
def test_exactly_one_of_less_equal_and_more(one: str, other: str) -> None:
    held = [compile_pattern(f"{operator}{one}").holds(other) for operator in ("<", ">")]
    equal = compile_pattern(f"<={one} & >={one}").holds(other)
    assert sorted([*held, equal]) == [False, False, True]
    assert equal is compile_pattern(f"{one}|x").holds(other)


@given(st.text("ab*?", max_size=8), st.text("abc", max_size=10))
def test_wildcards_are_those_of_a_naive_matcher(pattern: str, text: str) -> None:
    def naive(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "*":
            return any(naive(p[1:], t[at:]) for at in range(len(t) + 1))
        return bool(t) and p[0] in ("?", t[0]) and naive(p[1:], t[1:])

    if pattern in ("*", "?*"):
        return
    assert compile_pattern(pattern).holds(text) is naive(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*a*a*a*a*a*a*a*a*b", "a" * 100_000),
        ("*a?a?a?a?a?a?a*b", "a" * 100_000),
        ("?*?*?*?*?*b", "a" * 100_000),
        (">1", "9" * 100_000),
        ("1", "0" * 100_000 + "2"),
        ("<1h", "1h" * 100_000),
        (">1", "1e99999"),
        (">1", "1234567890123456789e99999"),
    ],
)
@pytest.mark.timeout(5)
def test_hostile_values_take_bounded_time(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).holds(text) is False


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a, b", "a | b"),
        ("a and b or c", "a & b | c"),
        ("!a, !b", "!a & !b"),  # with | one of both always holds
        ("!a or !b", "!a & !b"),
        ("!a, b", "!a | b"),
        ("a | b", ""),
    ],
)
def test_words_between_terms_become_operators(text: str, want: str) -> None:
    assert joined(text) == want

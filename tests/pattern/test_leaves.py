"""Leaves: every operator over every type; the rows of the tables in docs/write/patterns.md."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policyd.pattern import PatternError, compile_pattern

# pattern, values that fit, values that do not
ROWS: list[tuple[Any, list[Any], list[Any]]] = [
    # texts and wildcards
    ("web", ["web"], ["Web", "webs", "", None, 1, True, {}, {"web": 1}]),
    ("", [""], ["x", " ", None, 0, False]),
    ("*", ["", "x", 0, False, {}, []], [None]),
    ("?*", ["x", " ", 0, 1.5, False, {"a": 1}, ["x"]], ["", None, {}, []]),
    ("a*", ["a", "abc"], ["ba", "", None]),
    ("*a", ["a", "cba"], ["ab"]),
    ("*a*", ["a", "bab"], ["b"]),
    ("a*b*c", ["abc", "a-b-c", "abbcc"], ["ac", "acb", "ab"]),
    ("a?c", ["abc", "a?c", "a.c"], ["ac", "abbc"]),
    ("*:?*", ["a:b", ":::"], ["a:", "a"]),
    ("??", ["ab", 10, "é!"], ["a", "abc", 1]),
    ("*a?c*", ["xabcx", "aacc"], ["ac", "axxc"]),
    ("**", ["", "x"], [None]),
    ("*ab*ab", ["abab", "abxab"], ["ab", "xab"]),
    ("nginx:* ", ["nginx:1"], ["nginx"]),
    # scalars that are no texts
    ("true", [True, "true"], [False, "True", 1, None]),
    ("f*", [False, "foo"], [True]),
    ("1*", [1, 10, 1.5, "1x"], [2, True]),
    (True, [True], [False, "true", 1, None, {}]),
    (False, [False], [True, "false", 0, None]),
    (1, [1, 1.0, "1", "1000m", "1.0"], [2, "2", True, None, "x", "", {}]),
    (1.5, [1.5, "1.5", "1500m"], [1, "1", None]),
    (0, [0, 0.0, -0.0, "0", "0m"], [False, "", None]),
    (9007199254740993, [9007199254740993, "9007199254740993"], [9007199254740992, 9007199254740992.0]),
    (None, [None, "", 0, 0.0, False], ["x", 1, True, {}, []]),
    # negation
    ("!web", ["Web", "", 1, True], ["web", None, {}, {"a": 1}]),
    ("! *:latest", ["a:1", "a"], ["a:latest", None]),
    ("!?*", [""], ["x", 1, None]),
    ("!1", [2, "x", "1001m", True], [1, "1", "1000m", 1.0, None]),
    ("!true", [False, "x", 1], [True, "true"]),
    # comparisons
    (">1", [2, "2", 1.001, "1001m", "1Gi"], [1, "1", 0, "x", True, None, {}, ""]),
    (">= 1Gi", ["1Gi", "1024Mi", 2**30, "1.1G", "1073741824"], ["1023Mi", "1G", 2**30 - 1, None]),
    ("<0.1Gi", ["100Mi", "107374182", 5], ["108Mi", "0.1Gi", "1Gi"]),
    ("<=1h", ["60m", "59m59s", "1h", "0"], ["61m", "1h1ns", "x"]),
    (">1m30s", ["91s", "2m", "1h"], ["90s", "1m", "5"]),
    (">500m", ["501m", "1", 1, 0.51], ["500m", "0.5", 0.5]),
    (">1Ei", ["2Ei", "1e19", 1e19], ["1Ei", "1e18", 10**18]),
    ("<1n", ["0", "-1", -1], ["1n", "2n", 1]),
    (">-5", ["-4", 0, "-4999m"], ["-5", -6, "-5000m"]),
    # ranges
    ("1-3", [1, 2, "3", "2500m", 1.0], [0, 4, "3001m", "x", None]),
    ("1 - 3", [1, 2, "3"], [0, 4]),
    ("1!-3", [0, 4, "3001m"], [1, 2, 3, "x", None]),
    ("2-2", [2], [1, 3]),
    ("2!-2", [1, 3], [2]),
    ("100Mi-0.5Gi", ["100Mi", "512Mi", 2**28], ["99Mi", "513Mi"]),
    ("30s-1h", ["30s", "1m", "3600s"], ["29s", "61m", "5"]),
    ("0.00001-2.00001", [1, 2, 2.00001], [0, 2.0001]),
    ("-5--1", [-5, -1, "-3"], [-6, 0]),
    ("+1-+3", [2], [0]),
    # texts that only look like ranges
    ("5.10.84-1", ["5.10.84-1"], ["5.10.84", 5]),
    ("1-alpine", ["1-alpine"], [1]),
    ("2-foo1", ["2-foo1"], [2]),
    ("a-b", ["a-b"], ["a", "b"]),
    # combinations; the whole text itself always fits
    ("a|b", ["a", "b", "a|b"], ["c", "ab", None]),
    ("a* | *z", ["ab", "yz"], ["b"]),
    (">1 & <20 | >31 & <33", ["10", 32, "2"], ["21", 31, 33, 1]),
    ("!a & !b", ["c", 1], ["a", "b", None]),
    ("<4|8", [3, 8, "8"], [4, 9]),
    ("1-3 | ?*x", [2, "ax"], [4, "x"]),
    # lists: each item
    ("a*", [["a", "ab"], []], [["a", "b"], ["a", None], [["a"]], [{}]]),
    (1, [[1, "1"], []], [[1, 2]]),
    (True, [[True]], [[True, False]]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [(p, v, True) for p, fits, _ in ROWS for v in fits]
    + [(p, v, False) for p, _, fails in ROWS for v in fails],
)
def test_a_leaf_fits(pattern: Any, value: Any, fits: bool) -> None:
    assert compile_pattern(pattern).holds(value) is fits
    assert (compile_pattern(pattern).check(value) is None) is fits


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
        ("=>1", None),
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

"""The machine for small regular expressions: it answers as RE2 does, in bounded memory and work."""

import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from re2 import _re2

from policyd._core.regex import program
from policyd._core.regex.dfa import Dfa
from policyd._core.regex.syntax import parse
from tests.core.lib.evaluate import evaluate
from tests.core.regex.patterns import PATTERNS, TEXTS
from tests.sampling import examples

MEMORY = 64 << 10  # bytes of one pattern
OFTEN = 20  # times: the first texts are RE2's
TABLE = 1 << 14  # entries


def machine(pattern: str) -> Dfa:
    made = program.machine(parse(pattern).text)
    assert made is not None
    return made


def re2(pattern: str, text: str) -> bool:
    compiled = _re2.RE2(parse(pattern).text.encode(), _re2.RE2.Options())
    spans = compiled.Match(_re2.RE2.Anchor.UNANCHORED, text.encode(), 0, len(text.encode()))
    return bool(spans) and spans[0][0] >= 0


@settings(max_examples=examples(400))
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=6))
def test_it_answers_as_re2_does(pattern: str, texts: list[str]) -> None:
    made = machine(pattern)
    assert [made.matches(text) for text in texts] == [re2(pattern, text) for text in texts]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("", ["", "a", "\n"], []),
        ("a^b", [], ["ab", "a\nb"]),
        ("(?m)a$\n^b", ["a\nb"], ["ab", "a\n\nb"]),
        ("(?m)^a", ["a", "b\na"], ["ba"]),
        ("(?m)a$", ["a", "a\nb"], ["ab"]),
        ("^$", [""], ["\n", "a"]),
        ("(?m)\n^$", ["\n", "a\n", "\n\nb"], ["", "\na"]),
        ("a$", ["a", "ba"], ["a\n", "ab"]),
        ("(^a|b$)*c", ["c", "acb", "abc"], ["a"]),
        ("^(^a|b$)+$", ["a", "b", "ab"], ["ba", "aa", ""]),
        ("^.$", ["a", "\x00", "\x7f"], ["\n", "", "ab"]),
        ("(?s)^.$", ["a", "\n"], [""]),
        ("(?i)^k{2}$", ["kK"], ["k", "kkk"]),
        ("(?i)ſ", ["s", "S"], ["f"]),
        (r"\bab\b", ["ab", "-ab-", "a ab"], ["abb", "bab", "_ab"]),
        (r"^\B$", [""], ["a", "-"]),
        ("[^\\x00-\\x{10FFFF}]", [], ["", "a"]),
        ("^(|a|bc){2,3}$", ["", "a", "bcabc"], ["aaaa", "b"]),
        ("^(?:(?:a*)*b?)*$", ["", "aab", "baba"], ["c", "abc"]),
        ("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", ["a", "a-b", "a" * 63], ["", "a-", "-a", "a" * 64]),
        ("^[a-z.]+/[a-z/]+:v[0-9]+$", ["ghcr.io/a/b:v12"], ["a/b:v", "a/b:v1\n", "A/b:v1"]),
    ],
)
def test_patterns_match(pattern: str, yes: list[str], no: list[str]) -> None:
    made = machine(pattern)
    texts = [*yes, *no]
    assert [text for text in texts if made.matches(text)] == yes
    assert [text for text in texts if re2(pattern, text)] == yes
    often = texts * OFTEN
    assert evaluate("t.filter(x, x.matches(p))", t=often, p=pattern) == yes * OFTEN


@pytest.mark.parametrize(
    "pattern",
    [
        f"a{{{program.MAX_INSTRUCTIONS}}}",
        "(a{20}){30}",
        "(" * 100 + "a" + ")" * 100,
        "abc|" * 600,
    ],
)
def test_what_is_large_is_left_to_re2(pattern: str) -> None:
    assert program.machine(parse(pattern).text) is None
    assert evaluate("t.all(x, x.matches(p))", t=["a" * 600] * OFTEN, p=pattern) is True


def test_nothing_repeated_often_takes_no_time() -> None:
    nothing = machine("((){1000}){1}" * 100)
    assert sys.getsizeof(nothing) == sys.getsizeof(machine(""))


def test_other_texts_than_ascii_are_left_to_re2() -> None:
    made = machine("^.é?$")
    assert made.matches("é") is None
    assert made.matches("e") is True
    short = ["e", "é", "\U0001f600", "\x00"] * OFTEN
    assert evaluate("t.all(x, x.matches('^.$'))", t=short) is True
    folded = evaluate("t.map(x, x.matches('(?i)^k$'))", t=["k", "\u212a", "kk"] * OFTEN)
    assert folded == [True, True, False] * OFTEN


# The machine would need two to the power of the count of states; RE2 forgets some of its own.
GROWING = "(a|b)*a(a|b){20}$"


def test_a_pattern_with_too_many_states_is_given_up() -> None:
    random = Random(1)
    texts = ["".join(random.choices("ab", k=300)) for _ in range(40)]
    made = machine(GROWING)
    answers = [made.matches(text) for text in texts]
    assert answers[-1] is None
    assert made.gave_up
    assert made.matches("") is None
    wanted = [text[-21] == "a" for text in texts]
    assert len(set(wanted)) == 2
    assert evaluate(f"t.map(x, x.matches('{GROWING}'))", t=texts) == wanted
    assert sys.getsizeof(made) < MEMORY


@pytest.mark.parametrize(
    "pattern",
    [
        GROWING,
        "(a|b)*a[ab]{200}c",
        "|".join(f"[^{chr(each)}]{chr(each)}" for each in range(97, 123)) + "|é",
        "".join(f"(?:[a-{chr(each)}]?)" for each in range(98, 123)) + "é",
        "(?:[a-m]|[b-z]){120}é",
        r"(?im)(?:\bx{9}|^y{9}$|\Bz{9})é",
    ],
)
def test_memory_and_work_are_bounded(pattern: str) -> None:
    random = Random(2)
    text = "".join(random.choices("abcdefghijklmnopqrstuvwxyz\n -", k=200_000))
    made = machine(pattern)
    first = made.matches(text)
    steps = made.steps
    assert 0 < steps <= TABLE
    assert sys.getsizeof(made) < MEMORY
    assert made.matches(text) is (None if made.gave_up else first)
    assert made.steps == steps  # each is worked out once


def test_a_text_is_read_no_further_than_needed() -> None:
    made = machine("^ab")
    assert made.matches("x" + "".join(map(chr, range(128))) * 100) is False
    assert made.steps == 1
    assert made.matches("ab" + "".join(map(chr, range(128))) * 100) is True
    assert made.steps == 3

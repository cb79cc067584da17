"""Numbers and searches in long strings: what Python's own functions find, in linear time."""

import random

import pytest

from policyd._core.values.errors import CelError
from policyd.cel.types.types import DYN
from tests.core.lib.evaluate import KUBERNETES, evaluate

RANDOM = random.Random(7)


def text(size: int, letters: str = "ab") -> str:
    return "".join(RANDOM.choices(letters, k=size))


LONG = text(200_000) + "abc" + "é" + text(3_000, "aé")
PARTS = [
    "a" * 30,
    LONG[1000:1800],
    LONG[150_000:199_000],
    LONG[-900:],
    "ab" * 20 + "c",
    text(4000) + "c",
    "é",
    "",
]


def found(expression: str, part: str) -> object:
    program = KUBERNETES.extend({"a": DYN, "b": DYN}).compile(expression)
    return program.evaluate({"a": LONG, "b": part}, cost_limit=10**15)


@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_searches_find_what_python_finds(part: str) -> None:
    assert found("a.indexOf(b)", part) == LONG.find(part)
    assert found("a.lastIndexOf(b)", part) == LONG.rfind(part)
    assert found("a.indexOf(b, 1001)", part) == (LONG.find(part, 1001) if part else 1001)
    assert found("a.contains(b)", part) is (part in LONG)
    if part:
        assert found("a.split(b)", part) == LONG.split(part)
        assert found("a.split(b, 3)", part) == LONG.split(part, 2)
        assert found("a.replace(b, 'xyz')", part) == LONG.replace(part, "xyz")
        assert found("a.replace(b, '', 2)", part) == LONG.replace(part, "", 2)


@pytest.mark.parametrize(
    ("number", "want"),
    [
        ("0" * 2000 + "1.5", 1.5),
        ("1." + "0" * 3000 + "1", 1.0),
        ("9007199254740993." + "0" * 3000, 9007199254740992.0),
        ("9007199254740993." + "0" * 3000 + "1", 9007199254740994.0),
        ("0." + "0" * 2000 + "1e2001", 1.0),
        ("1" + "0" * 2000 + "e-2000", 1.0),
        ("-" + "1" * 900 + "e-899", -1.1111111111111112),
        ("1_000.5", 1000.5),
        ("0x1_0p1", 32.0),
        ("1" + "0" * 2000, None),
        ("1e" + "9" * 2000, None),
        ("1e-" + "9" * 2000, 0.0),
        ("1" * 20_000 + "x", None),
        ("1_" * 1000, None),
        ("+", None),
        (".", None),
        ("1.e", None),
        ("+nan", None),
    ],
)
def test_doubles_of_any_length_are_read_as_go_reads_them(number: str, want: float | None) -> None:
    found = evaluate("double(a)", a=number)
    assert isinstance(found, CelError) if want is None else found == want, found

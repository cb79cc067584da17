"""YAML as Kubernetes reads it: the values of go-yaml v2 after the detour over JSON."""

import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import PolicySchemaError
from policyd.policy.source.loader import read_one

SCALARS: list[tuple[str, Any]] = [
    # texts that other readers take for something else
    ("2027-03-31", "2027-03-31"),
    ("2027-03-31T10:00:00Z", "2027-03-31T10:00:00Z"),
    ("12:30:45", "12:30:45"),
    ("1:2", "1:2"),
    ("1.2.3", "1.2.3"),
    ("v1", "v1"),
    ("0x", "0x"),
    ("1e400", "1e400"),
    ("1_a", "1_a"),
    ("=", "="),
    ("tRUE", "tRUE"),
    ("nUll", "nUll"),
    ("'5'", "5"),
    ('"yes"', "yes"),
    ("!!str 5", "5"),
    ("!!binary aGVsbG8=", "hello"),
    ("!local 5", "5"),
    # numbers
    ("1e3", 1000),
    ("1E+3", 1000),
    ("1.0", 1),
    ("1.", 1),
    ("1.5", 1.5),
    (".5", 0.5),
    ("-.5", -0.5),
    ("+5", 5),
    ("1_000", 1000),
    ("0x1F", 31),
    ("-0x10", -16),
    ("0o17", 15),
    ("017", 15),
    ("08", 8),
    ("0b11", 3),
    ("-0b11", -3),
    ("0", 0),
    ("-0", 0),
    ("9223372036854775807", 9223372036854775807),
    ("9223372036854775808", 9.223372036854775808e18),
    ("-9223372036854775808", -9223372036854775808),
    ("123456789012345678901234567890", 1.2345678901234568e29),
    ("!!float 1", 1),
    ("!!int 1", 1),
    # words
    ("yes", True),
    ("Yes", True),
    ("y", True),
    ("on", True),
    ("TRUE", True),
    ("no", False),
    ("n", False),
    ("off", False),
    ("False", False),
    ("", None),
    ("~", None),
    ("null", None),
    ("Null", None),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_scalars_are_those_of_go_yaml(text: str, value: Any) -> None:
    found = read_one(f"a: {text}")["a"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "key"),
    [("1: x", "1"), ("1.5: x", "1.5"), ("y: x", "true"), ("no: x", "false"), ("'1': x", "1")],
)
def test_keys_become_texts(text: str, key: str) -> None:
    assert read_one(text) == {key: "x"}


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb: 2\na: 3", "<text>:3:1", 'duplicate key "a"'),
        ("a: {x: 1, 'x': 2}", "<text>:1:11", 'duplicate key "x"'),
        ('{"a": 1,\n "a": 2}', "<text>:2:2", 'duplicate key "a"'),
        ("1: a\n'1': b", "<text>:2:1", 'duplicate key "1"'),
        ("a: .nan", "<text>:1:4", ".nan is not a JSON value"),
        ("a: -.inf", "<text>:1:4", "-.inf is not a JSON value"),
        ("null: a", "<text>:1:1", "a key must not be null"),
        ("[1]: a", "<text>:1:1", "a key must be a string"),
        ("a: !!int x", "<text>:1:4", "cannot decode !!str `x` as a !!int"),
        ("a: &x [*x]", "<text>:1:4", "an anchor contains itself"),
        ("a: *nowhere", "<text>:1:4", "found undefined alias"),
        ("a: b: c", "<text>:1:5", "mapping values are not allowed"),
        ("a: 1\n\tb: 2", "<text>:2:1", "found a tab character"),
        ("a: [1", "<text>", "did not find expected"),
        ("<<: 1", "<text>:1:5", "map merge requires map"),
        ("a\x07: 1", "<text>:1:2", "not allowed"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(PolicySchemaError) as caught:
        read_one(text)
    assert place in str(caught.value)
    assert message in str(caught.value)


def test_merge_keys_give_way_to_own_keys_and_earlier_maps_win() -> None:
    text = "base: &b {a: 1, b: 1}\nmore: &m {b: 2, c: 2}\nx:\n  a: 0\n  <<: [*b, *m]\n"
    assert read_one(text)["x"] == {"a": 0, "b": 1, "c": 2}


def test_aliases_are_copies() -> None:
    value = read_one("a: &a {x: []}\nb: *a")
    assert value["a"] == value["b"]
    assert value["a"] is not value["b"]


def test_a_billion_laughs_are_cut_short() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(PolicySchemaError, match="excessive aliasing"):
        read_one("\n".join(lines))


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", '{"a":'])
def test_hostile_depth_is_an_error_not_a_crash(opening: str) -> None:
    code = (
        "import sys\nfrom policyd.errors import PolicySchemaError\n"
        "from policyd.policy.source.loader import read_one\n"
        "try: read_one(sys.argv[1] * 50000)\n"
        "except PolicySchemaError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, opening], capture_output=True, text=True, check=True
    )
    assert "nested deeper than 1000 levels" in done.stdout


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_thousand_levels_are_read(opening: str, closing: str) -> None:
    for outer in ("", "a: "):  # as JSON, and as YAML
        depth = 999 - bool(outer)
        value = read_one(outer + opening * depth + "1" + closing * depth)
        for _ in range(depth + bool(outer)):
            value = value["a"] if isinstance(value, dict) else value[0]
        assert value == 1


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_json_comes_through_unchanged(value: Any) -> None:
    text = json.dumps({"v": value})
    found = read_one(text)["v"]
    assert found == value
    assert json.dumps(found) == json.dumps(value)


def test_whole_floats_beyond_the_integers_stay_floats() -> None:
    assert math.isclose(read_one("a: 1e30")["a"], 1e30)
    assert isinstance(read_one("a: 1e30")["a"], float)


@pytest.mark.parametrize(
    ("opening", "levels"),
    [("[", 1), ("- ", 1), ("{a: ", 1), ("? ", 1), ("[a: ", 2), ("? - ", 2), ("- ? ", 2)],
)
def test_the_limit_on_depth_is_the_same_for_every_form(opening: str, levels: int) -> None:
    with pytest.raises(PolicySchemaError, match="nested deeper than 1000 levels"):
        read_one(opening * (1001 // levels + 1) + "x")


def test_the_limit_on_depth_counts_lists_that_are_not_indented() -> None:
    text = "a:\n" + "".join(f"{'  ' * level}- a:\n" for level in range(501))
    with pytest.raises(PolicySchemaError, match="nested deeper than 1000 levels"):
        read_one(text)


def test_wide_documents_are_not_deep() -> None:
    assert read_one("[[{a: 1}]]\n" + "# ----\n" * 1000) == [[{"a": 1}]]
    assert len(read_one("- {a: [b]}\n" * 2000)) == 2000
